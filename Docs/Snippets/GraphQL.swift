// SPDX-License-Identifier: MIT
//! GraphQL: operations as values, partial data, uploads, persisted queries, and tests.

import PulseKit
import PulseTesting

struct Hero: Codable, Sendable {
    let name: String
    let friends: [String?]
}

// snippet.operation
struct GetHero: GraphQLOperation {
    struct Value: Decodable, Sendable { let hero: Hero }
    struct Variables: Encodable, Sendable { let id: String }

    static let document = "query GetHero($id: ID!) { hero(id: $id) { name friends } }"
    let variables: Variables
}
// snippet.end

// snippet.upload
struct SetPortrait: GraphQLOperation {
    struct Value: Decodable, Sendable { let url: String }
    struct Variables: Encodable, Sendable {
        let id: String
        let file = JSONValue.null
    }

    static let document = "mutation SetPortrait($id: ID!, $file: Upload!) { url: setPortrait(id: $id, file: $file) }"
    let variables: Variables
    let portrait: Data
    var uploads: [GraphQLUpload] { [GraphQLUpload("file", data: portrait, filename: "portrait.png")] }
}
// snippet.end

// snippet.subscription
struct PriceChanged: GraphQLOperation {
    struct Value: Decodable, Sendable { let price: Int }
    struct Variables: Encodable, Sendable { let tea: String }

    static let document = "subscription PriceChanged($tea: ID!) { price(tea: $tea) }"
    let variables: Variables
}
// snippet.end

let server = try await MockServer.start()

// snippet.server
server.onGraphQL("/graphql") { operation in
    switch operation.name {
    case "GetHero":
        .data(
            ["hero": ["name": "R2-D2", "friends": ["Luke", nil]]] as JSONValue,
            errors: [GraphQLError(message: "no access", path: ["hero", "friends", 1])])
    case "SetPortrait": .data(["url": "/portraits/\(operation.uploads[0].data.count)"])
    case "PriceChanged":
        .events(
            AsyncStream { prices in
                for price in [11, 12] { prices.yield(.data(["price": price])) }
                prices.finish()
            })
    default: .errors(GraphQLError(message: "unknown operation"))
    }
}
// snippet.end

// snippet.settings
let settings = GraphQLSettings()
    .with(\.path, value: "/graphql")
    .with(\.queriesUseGET, value: true)
    .with(\.persistedQueries, value: .automatic)
let client = PulseClient(configuration: PulseConfiguration(baseURL: server.baseURL).with(\.graphQL, value: settings))
// snippet.end

// snippet.partial
let response = try await client.request(GetHero(variables: .init(id: "2001")))
print(response.data?.hero.name ?? "no hero")  // R2-D2
for error in response.errors {
    print(error.message, error.path)
}
// snippet.end

// snippet.complete
do {
    let hero = try await client.graphQL(GetHero(variables: .init(id: "2001"))).hero
    print(hero.name)
} catch PulseError.graphQL(let errors) {
    print(errors.map(\.message))  // ["no access"]
}
// snippet.end

print(try await client.graphQL(SetPortrait(variables: .init(id: "2001"), portrait: Data(count: 100))).url)

// snippet.text
do {
    let result: JSONValue = try await client.graphQL(query: "query Meaning { meaning }", variables: ["of": "life"])
    print(result["meaning"] ?? "none")
} catch PulseError.graphQL(let errors) {
    print(errors.map(\.message))  // ["unknown operation"]
}
// snippet.end

// snippet.subscribe
let subscription = client.subscribe(PriceChanged(variables: .init(tea: "sencha")))
for try await response in subscription {
    print(response.data?.price ?? 0)  // 11, then 12
}
// snippet.end

let token = "t1"
// snippet.sockets
let live = GraphQLSettings()
    .with(\.socketPath, value: "/graphql/live")
    .with(\.connectionPayload, value: { ["token": .string(token)] })
    .with(\.subscriptionBuffer, value: .newest(1))
// snippet.end
print(live.lingers)

// snippet.states
let prices = client.subscribe(PriceChanged(variables: .init(tea: "sencha")))
Task {
    for await state in prices.states {
        switch state {
        case .starting: print("connecting")
        case .active: print("live")  // after an interruption: load what may be missing
        case .interrupted(let error): print("offline: \(error)")
        case .ended(let error): print(error.map { "failed: \($0)" } ?? "done")
        }
    }
}
for try await response in prices { print(response.data?.price ?? 0) }
// snippet.end

// snippet.stub
let transport = MockTransport(stubs: [
    .graphQL("GetHero", data: ["hero": ["name": "R2-D2", "friends": []]] as JSONValue)
])
// snippet.end

let tested = PulseClient(configuration: PulseConfiguration(baseURL: server.baseURL), transport: transport)
print(try await tested.graphQL(GetHero(variables: .init(id: "2001"))).hero.name)
await client.shutdown()
await server.shutdown()
