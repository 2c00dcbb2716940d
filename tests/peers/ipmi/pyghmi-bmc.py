"""A BMC made of pyghmi's server, for a client that shares no code with it. Prints what it does to the power."""

import sys
import uuid

from pyghmi.ipmi import bmc


class Host(bmc.Bmc):
    state = 'on'

    def get_system_guid(self):
        return uuid.UUID(sys.argv[4])

    def get_power_state(self):
        return self.state

    def power_off(self):
        self.state = 'off'
        print('off', flush=True)

    def power_on(self):
        self.state = 'on'
        print('on', flush=True)


port, username, password = int(sys.argv[1]), sys.argv[2], sys.argv[3]
Host({username: password}, port=port, address='127.0.0.1').listen()
