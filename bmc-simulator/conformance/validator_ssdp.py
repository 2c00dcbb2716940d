"""Runs the assertions of the DMTF protocol validator about SSDP, with one BMC that is to be found.

The validator's own program runs them, too, but among all others, and it leaves each one out that finds no
answer. Prints one line per result: RESULT, a tab, assertion, a tab, message.

Arguments: URL, CA file, user name. The password is in the environment variable BMC_PASSWORD.
"""

import os
import sys

from redfish_protocol_validator import service_details
from redfish_protocol_validator.system_under_test import SystemUnderTest

TESTS = (
    service_details.test_ssdp_can_be_disabled,
    service_details.test_ssdp_usn_matches_service_root_uuid,
    service_details.test_ssdp_uuid_in_canonical_format,
    service_details.test_ssdp_msearch_responds_to_redfish_or_all,
    service_details.test_ssdp_st_header_format,
    service_details.test_ssdp_al_header_points_to_service_root,
    service_details.test_ssdp_m_search_response_format,
)


def main():
    url, ca, user = sys.argv[1:]
    sut = SystemUnderTest(url, user, os.environ["BMC_PASSWORD"], verify=ca)
    sut.login()
    root = sut.get("/redfish/v1/").json()
    sut.set_service_uuid(root["UUID"])
    sut.set_version(root["RedfishVersion"])
    sut.set_mgr_net_proto_uri("/redfish/v1/Managers/BMC/NetworkProtocol")
    service_details.pre_ssdp(sut)
    for test in TESTS:
        test(sut)
    sut.logout()
    for assertion, results in sut.results.items():
        for result in results:
            print(result["result"].value, assertion.name, result["msg"], sep="\t")


main()
