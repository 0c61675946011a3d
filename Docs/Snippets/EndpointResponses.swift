// SPDX-License-Identifier: MIT
//! Responses: decoded, empty, optional, raw, and read by the endpoint itself.

import PulseKit
import PulseTesting

// snippet.kinds
struct GetMotto: Endpoint {
    typealias Response = String  // the body as text

    let path = "/motto"
}

struct GetAvatar: Endpoint {
    typealias Response = Data  // the body unchanged

    let path = "/avatar"
}

struct Ping: Endpoint {
    typealias Response = EmptyResponse  // any 2xx; a body is ignored

    let path = "/ping"
    let method = HTTPMethod.head
}

struct FindUser: Endpoint {
    struct User: Decodable, Sendable {
        let name: String
    }

    typealias Response = User?  // nil for an empty body or a literal null

    let path = "/users/latest"
}
// snippet.end

// snippet.decode
struct Rate: Sendable {
    let currency: String
    let value: Double
}

struct GetRates: Endpoint {
    struct Malformed: Error {}

    let path = "/rates.csv"
    let headers = ["Accept": "text/csv"]

    func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> [Rate] {
        try String(decoding: response.data, as: UTF8.self).split(separator: "\n").map { line in
            let columns = line.split(separator: ",")
            guard columns.count == 2, let value = Double(columns[1]) else { throw Malformed() }
            return Rate(currency: String(columns[0]), value: value)
        }
    }
}
// snippet.end

// snippet.envelope
struct Envelope<Content: Decodable & Sendable>: Decodable, Sendable {
    let data: Content
}

protocol EnvelopedEndpoint: Endpoint where Response: Decodable {}

extension EnvelopedEndpoint {
    func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Response {
        try response.decode(Envelope<Response>.self, using: decoder).data
    }
}

struct GetTeam: EnvelopedEndpoint {
    struct Response: Decodable, Sendable {
        let name: String
    }

    let path = "/team"
}
// snippet.end

// snippet.decoder
struct PropertyListResponseDecoder: ResponseDecoder {
    let contentType = "application/x-plist"

    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try PropertyListDecoder().decode(type, from: data)
    }
}

let settings = Request<[String: String]>(.get, "/settings").option(\.decoder, PropertyListResponseDecoder())
// snippet.end

try await MockServer.run { server in
    server.on(.get, "/motto") { _ in .text("ça marche") }
    server.on(.get, "/avatar") { _ in .data(Data([1, 2, 3])) }
    server.on(.get, "/ping") { _ in .status(204) }
    server.on(.get, "/users/latest") { _ in .status(200) }
    server.on(.get, "/rates.csv") { _ in .text("EUR,1.0\nUSD,1.1\n") }
    server.on(.get, "/team") { _ in .text(#"{"data": {"name": "Engines"}}"#) }
    server.on(.get, "/settings") { _ in .data(try PropertyListEncoder().encode(["color": "red"])) }
    server.on(.post, "/orders") { _ in .text(#"{"reason": "sold out"}"#, status: 409) }
    let client = PulseClient(configuration: PulseConfiguration(baseURL: server.baseURL))

    print(try await client.request(GetMotto()), try await client.request(GetAvatar()).count)
    try await client.request(Ping())
    print(try await client.request(FindUser())?.name ?? "nobody")
    print(try await client.request(GetRates()).map(\.currency))
    print(try await client.request(GetTeam()).name, try await client.request(settings))

    // snippet.errorBody
    struct Refusal: Decodable {
        let reason: String
    }

    do {
        try await client.post("/orders")
    } catch PulseError.http(let response) where response.statusCode == 409 {
        print(try response.decode(Refusal.self).reason)
    }
    // snippet.end
    await client.shutdown()
}
