# SPDX-License-Identifier: MIT
# etcd.py - requests of tests to the etcd of with_etcd.sh, through its JSON gateway.

import base64
import json
import os
import ssl
import urllib.request

ENDPOINTS = os.environ["GLOCK_ETCD"].split(",")


def _context():
    if "ETCDCTL_CACERT" not in os.environ:
        return None
    context = ssl.create_default_context(cafile=os.environ["ETCDCTL_CACERT"])
    context.load_cert_chain(os.environ["ETCDCTL_CERT"], os.environ["ETCDCTL_KEY"])
    return context


CONTEXT = _context()
HEADERS = {}  # a test puts the token of a user here


def b64(text):
    return base64.b64encode(text.encode()).decode()


def tell(path, member=0, **body):
    """Sends a request to one member. Returns the answer."""
    request = urllib.request.Request("%s/v3/%s" % (ENDPOINTS[member], path), json.dumps(body).encode(), HEADERS)
    with urllib.request.urlopen(request, timeout=2, context=CONTEXT) as answer:
        return json.load(answer)
