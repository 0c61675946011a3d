# SPDX-License-Identifier: MIT
"""A server of persisted queries over graphql-core. Each path has a store of its own; the first part of it is the behavior:

- `store`: knows the documents that have come with their hashes.
- `forgetful`: claims to know none, whatever has come.
- `unsupported`: knows no hashes.

`GET /log/PATH` returns the requests of a path, each as the method and what it had of the document.
"""
import collections
import hashlib
import json
import urllib.parse

from graphql import GraphQLError, build_schema, graphql

SCHEMA = build_schema("type Query { greeting(name: String!): String! } type Mutation { add(count: Int!): Int! }")
documents = collections.defaultdict(dict)
log = collections.defaultdict(list)


class Root:
    def greeting(self, _, name):
        return f"Hello, {name}"

    def add(self, _, count):
        return count


async def outcome(path, method, request):
    """The status and the body, by GraphQL over HTTP with its own media type."""
    document = request.get("query")
    persisted = request.get("extensions", {}).get("persistedQuery")
    log[path].append(" ".join([method] + ["document"] * bool(document) + ["hash"] * bool(persisted)))
    if persisted:
        sha256, behavior = persisted["sha256Hash"], path.split("/")[0]
        if behavior == "unsupported":
            return refusal("PersistedQueryNotSupported")
        if behavior == "forgetful" or not document and sha256 not in documents[path]:
            return refusal("PersistedQueryNotFound")
        if document and hashlib.sha256(document.encode()).hexdigest() != sha256:
            return refusal("the hash is not that of the document")
        document = documents[path].setdefault(sha256, document)
    result = await graphql(
        SCHEMA, document or "", root_value=Root(), variable_values=request.get("variables"),
        operation_name=request.get("operationName"))
    return 200 if result.data is not None else 400, result.formatted


def refusal(message):
    code = {"code": "PERSISTED_QUERY_NOT_FOUND"} if message == "PersistedQueryNotFound" else None
    return 400, {"errors": [GraphQLError(message, extensions=code).formatted]}


async def body(receive):
    data = b""
    while True:
        event = await receive()
        data += event.get("body", b"")
        if not event.get("more_body"):
            return data


async def application(scope, receive, send):
    if scope["type"] != "http":
        return
    path, method = scope["path"].strip("/"), scope["method"]
    if path.startswith("log/"):
        status, content = 200, log[path.removeprefix("log/")]
    elif method == "GET":
        items = dict(urllib.parse.parse_qsl(scope["query_string"].decode()))
        objects = {name: json.loads(items[name]) for name in ("variables", "extensions") if name in items}
        status, content = await outcome(path, method, items | objects)
    else:
        status, content = await outcome(path, method, json.loads(await body(receive)))
    kind = b"application/json" if path.startswith("log/") else b"application/graphql-response+json"
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
    await send({"type": "http.response.body", "body": json.dumps(content).encode()})
