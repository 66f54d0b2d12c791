"""Verifies DKIM signatures with dkimpy, which asks the given records instead of the DNS.

JSON lines in, JSON lines out:
    {"message": base64, "records": {name: TXT value}} -> {"verdicts": [true, false, ...]}, one for each signature
"""

import base64
import json
import sys

import dkim


def verdicts(message, records):
    def look_up(name, timeout=5):
        return records.get(name.decode().rstrip('.'), '').encode() or None

    count = sum(1 for line in message.split(b'\r\n\r\n', 1)[0].split(b'\r\n') if line.lower().startswith(b'dkim-signature:'))
    return [verifies(message, index, look_up) for index in range(count)]


def verifies(message, index, look_up):
    try:
        return dkim.DKIM(message).verify(idx=index, dnsfunc=look_up)
    except dkim.DKIMException as problem:
        print(f'dkimpy: {problem}', file=sys.stderr)
        return False


for line in sys.stdin:
    request = json.loads(line)
    answer = {'verdicts': verdicts(base64.b64decode(request['message']), request['records'])}
    print(json.dumps(answer), flush=True)
