// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct EndpointTests {
    private struct User: Codable, Sendable, Equatable {
        let id: Int
    }

    private struct Minimal: Endpoint {
        typealias Response = User
        let path = "/users"
    }

    @Test
    func anEndpointNeedsOnlyAPathAndAResponse() {
        let endpoint = Minimal()
        #expect(endpoint.path == "/users")
        #expect(endpoint.method == .get)
        #expect(endpoint.queryParameters.isEmpty)
        #expect(endpoint.queryItems.isEmpty)
        #expect(endpoint.headers.isEmpty)
        #expect(endpoint.body.isNone)
        #expect(endpoint.timeoutInterval == 0)
        #expect(!endpoint.isQueueableWhenOffline)
        #expect(endpoint.plugins.isEmpty)
        #expect(endpoint.options.setFields.isEmpty)
    }

    // MARK: Paths

    private struct Throwing: Endpoint {
        typealias Response = User
        let id: String
        var path: String { get throws { try PathTemplate("/users/{id}").expand(["id": id]) } }
    }

    private struct Interpolated: Endpoint {
        typealias Response = User
        let id: String
        var path: PathText { "/users/\(id)" }
    }

    private struct Linked: Endpoint {
        typealias Response = User
        let path: URL
    }

    private enum Route: RequestTarget {
        case user(String)
        var requestPath: PathText {
            switch self {
            case .user(let id): "/users/\(id)"
            }
        }
    }

    private struct Routed: Endpoint {
        typealias Response = User
        let path: Route
    }

    private enum Chosen: Endpoint {
        typealias Response = User
        case all
        case one(String)
        var path: PathText {
            switch self {
            case .all: "/users"
            case .one(let id): "/users/\(id)"
            }
        }
    }

    private struct Wrapping<Inner: Endpoint>: Endpoint {
        typealias Response = Inner.Response
        let inner: Inner
        var path: Inner.PathValue { get throws { try inner.path } }
        func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Inner.Response {
            try inner.decode(response, using: decoder)
        }
    }

    private func text(_ endpoint: some Endpoint) throws -> String { try endpoint.path.requestPath.text }

    @Test
    func aPathHasAnyTypeThatMakesOne() throws {
        #expect(try text(Minimal()) == "/users")
        #expect(try text(Throwing(id: "a/b")) == "/users/a%2Fb")
        #expect(try text(Interpolated(id: "a/b")) == "/users/a%2Fb")
        #expect(try text(Linked(path: try url("https://h.example/a?b"))) == "https://h.example/a?b")
        #expect(try text(Routed(path: .user("a/b"))) == "/users/a%2Fb")
        #expect(try text(Chosen.all) == "/users" && text(Chosen.one("a/b")) == "/users/a%2Fb")
        #expect(try text(Wrapping(inner: Interpolated(id: "a/b"))) == "/users/a%2Fb")
        #expect(try text(Wrapping(inner: Minimal())) == "/users")
    }

    @Test
    func aPathMayThrow() {
        #expect(throws: PulseError.self) { try Throwing(id: "..").path }
        #expect(throws: PulseError.self) { try Interpolated(id: "..").path.text }
        #expect(throws: PulseError.self) { try text(Wrapping(inner: Throwing(id: ".."))) }
    }

    @Test
    func anEndpointOfAnyTypeHasAPath() throws {
        let endpoints: [any Endpoint] = [Minimal(), Throwing(id: "a/b"), Interpolated(id: "a/b")]
        #expect(try endpoints.map { try $0.path.requestPath.text } == ["/users", "/users/a%2Fb", "/users/a%2Fb"])
    }

    // MARK: Decoding

    private struct Get<Response: Decodable & Sendable>: Endpoint {
        let path = "/x"
    }

    private func decode<Value: Decodable & Sendable>(
        _ type: Value.Type, _ body: String, headers: HTTPHeaders = [:], status: Int = 200
    ) throws -> Value {
        let response = PulseResponse(
            statusCode: status, headers: headers, data: Data(body.utf8), request: try request())
        return try Get<Value>().decode(response, using: .json)
    }

    @Test
    func aGenericEndpointDecodesEachKindOfResponse() throws {
        #expect(try decode(User.self, #"{"id":7}"#) == User(id: 7))
        #expect(try decode([User].self, #"[{"id":7}]"#) == [User(id: 7)])
        #expect(try decode(Data.self, "not json") == Data("not json".utf8))
        #expect(try decode(String.self, "not json") == "not json")
        #expect(try decode(EmptyResponse.self, "not json") == EmptyResponse())
        #expect(try decode(EmptyResponse.self, "", status: 204) == EmptyResponse())
    }

    @Test
    func anOptionalIsNilForAnEmptyBodyOrNull() throws {
        #expect(try decode(User?.self, "") == nil)
        #expect(try decode(User?.self, "", status: 204) == nil)
        #expect(try decode(User?.self, "null") == nil)
        #expect(try decode(User?.self, #"{"id":7}"#) == User(id: 7))
        #expect(try decode([User]?.self, "") == nil)
        #expect(throws: PulseError.self) { try decode(User?.self, "{}") }
        #expect(throws: PulseError.self) { try decode(User?.self, "[") }
    }

    @Test
    func anEmptyBodyOfAnotherTypeIsAnEmptyBodyError() {
        #expect(#expect(throws: PulseError.self) { try decode(User.self, "") }?.kind == .emptyBody)
        #expect(#expect(throws: PulseError.self) { try decode([User].self, "", status: 204) }?.kind == .emptyBody)
        #expect(#expect(throws: PulseError.self) { try decode(User.self, " ") }?.kind == .decodingFailed)
    }

    @Test
    func aDecoderMayDecodeAnEmptyBody() throws {
        struct Lines: ResponseDecoder {
            func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
                try JSONDecoder().decode(type, from: Data("[\(String(decoding: data, as: UTF8.self))]".utf8))
            }
        }
        let response = PulseResponse(statusCode: 200, request: try request())
        #expect(try Get<[Int]>().decode(response, using: Lines()) == [])
    }

    @Test
    func anEndpointWithItsOwnDecodeNeedsNoDecodableResponse() throws {
        struct Row: Sendable, Equatable { let cells: [String] }
        struct Table: Endpoint {
            typealias Response = [Row]
            let path = "/table.csv"
            func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> [Row] {
                try String.read(response, using: decoder).split(separator: "\n")
                    .map { Row(cells: $0.split(separator: ",").map(String.init)) }
            }
        }
        let response = PulseResponse(statusCode: 200, data: Data("a,b\nc".utf8), request: try request())
        #expect(try Table().decode(response, using: .json) == [Row(cells: ["a", "b"]), Row(cells: ["c"])])
    }

    @Test
    func theGivenDecoderDecodesTheResponse() throws {
        struct Snake: Decodable, Sendable { let userId: Int }
        let response = PulseResponse(statusCode: 200, data: Data(#"{"user_id":1}"#.utf8), request: try request())
        let decoder = JSONResponseDecoder { $0.keyDecodingStrategy = .convertFromSnakeCase }
        #expect(try Get<Snake>().decode(response, using: decoder).userId == 1)
        #expect(try Get<Snake?>().decode(response, using: decoder)?.userId == 1)
    }
}

extension RequestBody {
    fileprivate var isNone: Bool {
        if case .none = content { true } else { false }
    }
}
