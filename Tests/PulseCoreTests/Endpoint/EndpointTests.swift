// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled, .timeLimit(.minutes(15)))
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

    @Test
    func aPathMayThrow() {
        struct Templated: Endpoint {
            typealias Response = EmptyResponse
            let id: String
            var path: String { get throws { try String(path: "/users/\(id)") } }
        }
        #expect(throws: PulseError.self) { try Templated(id: "..").path }
        #expect((try? Templated(id: "a/b").path) == "/users/a%2Fb")
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
