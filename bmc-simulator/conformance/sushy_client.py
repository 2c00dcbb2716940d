"""Does one thing at a BMC with the sushy library and prints what it saw as JSON.

Arguments: URL, CA file, user name, Basic or Session, path of a system, action. The password is in the
environment variable BMC_PASSWORD.
"""

import json
import os
import sys

import sushy
from sushy import auth

RESETS = {
    "off": sushy.ResetType.FORCE_OFF,
    "on": sushy.ResetType.ON,
    "restart": sushy.ResetType.FORCE_RESTART,
    "cycle": sushy.ResetType.POWER_CYCLE,
}


def main():
    url, ca, user, kind, path, action = sys.argv[1:]
    password = os.environ["BMC_PASSWORD"]
    method = {"Basic": auth.BasicAuth, "Session": auth.SessionAuth}[kind](user, password)
    root = sushy.Sushy(url, auth=method, verify=ca)
    system = root.get_system(path)
    if action in RESETS:
        system.reset_system(RESETS[action])
    elif action == "tag":
        # A change with the ladder of entity tags that sushy climbs.
        etag = system._get_etag()
        system._conn.patch(path, data={"AssetTag": "from sushy"}, etag=etag)
        system.refresh(force=True)
    seen = {
        "uuid": system.uuid,
        "power": system.power_state.value if system.power_state else None,
        "resets": sorted(value.value for value in system.get_allowed_reset_system_values()),
        "tag": system.asset_tag,
        "chassis": [chassis.identity for chassis in system.chassis],
        "managers": [manager.identity for manager in system.managers],
        "features": root.protocol_features_supported.only_member_query,
    }
    if kind == "Session":
        method.close()
    print(json.dumps(seen))


main()
