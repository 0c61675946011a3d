# SPDX-License-Identifier: MIT
"""The schema as an application of strawberry."""
import resolvers
import strawberry
from strawberry.asgi import GraphQL
from strawberry.exceptions import ConnectionRejectionError
from strawberry.file_uploads import Upload, UploadDefinition
from strawberry.schema.config import StrawberryConfig


@strawberry.type
class Friend:
    secret: strawberry.Private[str | None]

    @strawberry.field
    def name(self) -> str | None:
        return resolvers.friend(self.secret)


@strawberry.type
class Hero:
    name: str
    friends: list[Friend]


@strawberry.type
class File:
    filename: str
    mime_type: str
    size: int
    # Beyond the range of Int.
    checksum: str


@strawberry.input
class Album:
    title: str
    files: list[Upload]


async def read(upload):
    found = await resolvers.described(upload)
    return File(filename=found["filename"], mime_type=found["mimeType"], size=found["size"],
                checksum=str(found["checksum"]))


def application(hub):
    @strawberry.type
    class Query:
        @strawberry.field
        def hero(self, id: strawberry.ID) -> Hero | None:
            hero = resolvers.HEROES.get(id)
            return hero and Hero(name=hero["name"], friends=[Friend(secret=name) for name in hero["friends"]])

        @strawberry.field
        def required(self) -> int:
            raise ValueError("there is no value")

        @strawberry.field
        def method(self, info: strawberry.Info, text: str) -> str:
            return f"{info.context['request'].method} {text}"

        @strawberry.field
        async def wait(self, topic: str, subscribers: int, ended: int) -> bool:
            return await hub.wait(topic, subscribers, ended)

        @strawberry.field
        def connections(self, topics: list[str]) -> int:
            return hub.connection_count(topics)

    @strawberry.type
    class Mutation:
        @strawberry.mutation
        def add(self, name: str, count: int) -> int:
            return resolvers.add(name, count)

        @strawberry.mutation
        def refuse(self) -> int | None:
            raise ValueError("refused")

        @strawberry.mutation
        async def upload(self, file: Upload) -> File:
            return await read(file)

        @strawberry.mutation
        async def upload_album(self, album: Album) -> list[File]:
            return [await read(upload) for upload in album.files]

        @strawberry.mutation
        def publish(self, topic: str, value: int) -> int:
            return hub.publish(topic, value)

    @strawberry.type
    class Subscription:
        @strawberry.subscription
        async def count(self, to: int) -> int:
            async for value in resolvers.count(to):
                yield value

        @strawberry.subscription
        async def topic(self, info: strawberry.Info, topic: str) -> int:
            async with hub.subscription(topic, info.context["request"]) as queue:
                while True:
                    yield await queue.get()

    class Application(GraphQL):
        async def on_ws_connect(self, context):
            if context["connection_params"].get("token", resolvers.TOKEN) != resolvers.TOKEN:
                raise ConnectionRejectionError()
            return await super().on_ws_connect(context)

    schema = strawberry.Schema(
        query=Query, mutation=Mutation, subscription=Subscription,
        config=StrawberryConfig(scalar_map={Upload: UploadDefinition}))
    return Application(schema, multipart_uploads_enabled=True)
