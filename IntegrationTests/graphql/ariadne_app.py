# SPDX-License-Identifier: MIT
"""The schema as an application of ariadne."""
import resolvers
from ariadne import MutationType, ObjectType, QueryType, SubscriptionType, make_executable_schema, upload_scalar
from ariadne.asgi import GraphQL
from ariadne.asgi.handlers import GraphQLTransportWSHandler

SCHEMA = """
scalar Upload

type Friend {
    name: String
}

type Hero {
    name: String!
    friends: [Friend!]!
}

type File {
    filename: String!
    mimeType: String!
    size: Int!
    checksum: String!
}

input Album {
    title: String!
    files: [Upload!]!
}

type Query {
    hero(id: ID!): Hero
    required: Int!
    method(text: String!): String!
    wait(topic: String!, subscribers: Int!, ended: Int!): Boolean!
    connections(topics: [String!]!): Int!
}

type Mutation {
    add(name: String!, count: Int!): Int!
    refuse: Int
    upload(file: Upload!): File!
    uploadAlbum(album: Album!): [File!]!
    publish(topic: String!, value: Int!): Int!
}

type Subscription {
    count(to: Int!): Int!
    topic(topic: String!): Int!
}
"""


def application(hub):
    query, mutation, friend = QueryType(), MutationType(), ObjectType("Friend")
    subscription = SubscriptionType()

    @query.field("hero")
    def hero(*_, id):
        hero = resolvers.HEROES.get(id)
        return hero and hero | {"friends": [{"secret": name} for name in hero["friends"]]}

    @friend.field("name")
    def name(friend, _):
        return resolvers.friend(friend["secret"])

    @query.field("required")
    def required(*_):
        raise ValueError("there is no value")

    @query.field("method")
    def method(_, info, text):
        return f"{info.context['request'].method} {text}"

    @query.field("wait")
    async def wait(*_, topic, subscribers, ended):
        return await hub.wait(topic, subscribers, ended)

    @query.field("connections")
    def connections(*_, topics):
        return hub.connection_count(topics)

    @mutation.field("add")
    def add(*_, name, count):
        return resolvers.add(name, count)

    @mutation.field("refuse")
    def refuse(*_):
        raise ValueError("refused")

    @mutation.field("upload")
    async def upload(*_, file):
        return await resolvers.described(file)

    @mutation.field("uploadAlbum")
    async def upload_album(*_, album):
        return [await resolvers.described(file) for file in album["files"]]

    @mutation.field("publish")
    def publish(*_, topic, value):
        return hub.publish(topic, value)

    @subscription.source("count")
    async def count_source(*_, to):
        async for value in resolvers.count(to):
            yield value

    @subscription.source("topic")
    async def topic_source(_, info, topic):
        async with hub.subscription(topic, info.context["request"]) as queue:
            while True:
                yield await queue.get()

    @subscription.field("count")
    @subscription.field("topic")
    def event(value, _, **arguments):
        return value

    def connect(_, payload):
        if (payload or {}).get("token", resolvers.TOKEN) != resolvers.TOKEN:
            # Closes with 1000, where strawberry closes with 4403.
            raise ConnectionRefusedError("the token has expired")

    schema = make_executable_schema(SCHEMA, query, mutation, subscription, friend, upload_scalar)
    return GraphQL(schema, execute_get_queries=True, websocket_handler=GraphQLTransportWSHandler(on_connect=connect))
