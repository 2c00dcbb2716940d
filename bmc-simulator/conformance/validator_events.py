"""Runs the assertions of the DMTF protocol validator about server-sent events.

The validator's own program leaves them out: redfish_protocol_validator 1.3.2 sets the stream's URI to None
(resources.py, get_default_resources), for its reader raises when a stream is quiet. Here test events keep it
busy; the assertions are run as they are. Prints one line per result: RESULT, a tab, assertion, a tab,
message.

Arguments: URL, CA file, user name. The password is in the environment variable BMC_PASSWORD.
"""

import os
import sys
import threading

import requests

from redfish_protocol_validator import security_details, service_details, utils
from redfish_protocol_validator.constants import RequestType
from redfish_protocol_validator.system_under_test import SystemUnderTest


def keep_busy(url, ca, user, done):
    """Submits a test event twice a second until `done` is set."""
    path = "/redfish/v1/EventService/Actions/EventService.SubmitTestEvent"
    body = {"MessageId": "ResourceEvent.1.3.ResourceStateChanged"}
    login = (user, os.environ["BMC_PASSWORD"])
    while not done.wait(0.5):
        requests.post(url + path, json=body, auth=login, verify=ca, timeout=10).raise_for_status()


def main():
    url, ca, user = sys.argv[1:]
    sut = SystemUnderTest(url, user, os.environ["BMC_PASSWORD"], verify=ca)
    sut.login()
    service = sut.get("/redfish/v1/EventService").json()
    sut.set_server_sent_event_uri(service["ServerSentEventUri"])
    sut.set_nav_prop_uri("Subscriptions", service["Subscriptions"]["@odata.id"])
    stream, destination = utils.get_sse_stream(sut)
    sut.set_event_dest_uri(destination)
    sut.add_response(service["ServerSentEventUri"], stream, request_type=RequestType.STREAMING)
    done = threading.Event()
    busy = threading.Thread(target=keep_busy, args=(url, ca, user, done))
    busy.start()
    try:
        service_details.test_server_sent_events(sut)
        security_details.test_session_termination_side_effects(sut)
    finally:
        done.set()
        busy.join()
    sut.logout()
    for assertion, results in sut.results.items():
        for result in results:
            print(result["result"].value, assertion.name, result["msg"], sep="\t")


main()
