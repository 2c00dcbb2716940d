"""Starts Ironic, with its arguments, as its own script `ironic` does.

Its driver derives a key from the BMC's address and password anew before each request to a BMC: 600000 rounds of SHA-512,
most of all that it computes (ironic/drivers/modules/redfish/utils.py, SessionCache). Here it is derived once for each.
"""

import functools
import hashlib
import sys

hashlib.pbkdf2_hmac = functools.cache(hashlib.pbkdf2_hmac)

from ironic.command.singleprocess import main  # noqa: E402

sys.exit(main())
