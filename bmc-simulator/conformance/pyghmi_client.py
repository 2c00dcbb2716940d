"""Drives a BMC with pyghmi's client: ADDRESS PORT USER PASSWORD STEP...

A step is `status` or a power state that pyghmi knows. Prints one line per step.
"""

import sys

from pyghmi.ipmi import command

address, port, user, password, *steps = sys.argv[1:]
bmc = command.Command(bmc=address, port=int(port), userid=user, password=password)
for step in steps:
    if step == "status":
        print("status", bmc.get_power()["powerstate"])
    else:
        print(step, bmc.set_power(step, wait=10))
bmc.ipmi_session.logout()
