// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// The ways to write a call, with only the public API: each must compile, and send the expected request.
@Suite(.throttled)
struct CallSpellingTests {
    private struct User: Codable, Sendable, Equatable {
        var id = 1
        var name = "Ada"
    }

    private let mock: MockTransport
    private let client: PulseClient

    init() throws {
        mock = MockTransport { request in
            PulseResponse(
                statusCode: 200, data: request.httpMethod == "HEAD" ? Data() : Data(#"{"id": 1, "name": "Ada"}"#.utf8),
                request: request)
        }
        client = PulseClient(
            baseURL: try #require(URL(string: "https://api.example.com/v1")), transport: mock, events: PulseEventBus())
    }

    private var sent: [String] {
        mock.requests.map { "\($0.httpMethod ?? "") \($0.url?.absoluteString.dropFirst(23) ?? "")" }
    }

    private var bodies: [String] {
        mock.requests.map { String(decoding: $0.httpBody ?? Data(), as: UTF8.self) }
    }

    @Test func theResultTypeIsInferredOrNamed() async throws {
        let inferred: User = try await client.get("/a")
        let named = try await client.get("/b", as: User.self)
        #expect(inferred == named)
        let text = try await client.get("/c", as: String.self)
        #expect(text.hasPrefix("{"))
        let optional = try await client.get("/d", as: User?.self)
        #expect(optional == named)
        func load() async throws -> User { try await client.get("/e") }
        #expect(try await load() == named)
        let posted = try await client.post("/f", as: User.self)
        let put = try await client.put("/g", body: User(), as: User.self)
        let patched = try await client.patch("/h", body: ["name": "Ada", "age": 36], as: User.self)
        let deleted = try await client.delete("/i", as: User.self)
        #expect([posted, put, patched, deleted] == [named, named, named, named])
        let made: User = try await client.post("/j", body: User())
        let replaced: User = try await client.put("/k", body: ["name": "Ada"])
        let changed: User = try await client.patch("/l", body: .json(User()))
        let removed: User = try await client.delete("/m")
        #expect([made, replaced, changed, removed] == [named, named, named, named])
        #expect(sent.last == "DELETE /v1/m" && sent.count == 13)
    }

    @Test func theResultMayBeIgnored() async throws {
        try await client.post("/a")
        try await client.post("/b", body: User())
        try await client.put("/c", body: ["a": 1])
        try await client.patch("/d", body: ["a": 1, "b": "c"])
        try await client.delete("/e")
        let empty = try await client.delete("/f")
        #expect(type(of: empty) == EmptyResponse.self)
        let none: EmptyResponse = try await client.post("/g", body: .text("x"))
        #expect(none == EmptyResponse())
        #expect(
            sent == [
                "POST /v1/a", "POST /v1/b", "PUT /v1/c", "PATCH /v1/d", "DELETE /v1/e", "DELETE /v1/f", "POST /v1/g",
            ])
        #expect(bodies[2] == #"{"a":1}"#)
        #expect(try await client.head("/h").statusCode == 200)
    }

    /// This compiles without a warning, and the tests treat warnings as errors.
    @Test func theValueOfAnEndpointMayBeIgnored() async throws {
        try await client.request(Request<User>(.post, "/a"))
        try await client.rawRequest(Request<User>(.post, "/b"))
        try await client.rawRequest(URLRequest(url: try #require(URL(string: "https://api.example.com/v1/c"))))
        #expect(sent == ["POST /v1/a", "POST /v1/b", "GET /v1/c"])
    }

    @Test func aResponseOfAPathHasValueStatusAndHeaders() async throws {
        let mock = MockTransport { request in
            PulseResponse(
                statusCode: 201, headers: ["Location": "/users/1"], data: Data(#"{"id": 1, "name": "Ada"}"#.utf8),
                request: request)
        }
        let client = PulseClient(
            baseURL: try #require(URL(string: "https://api.example.com/v1")), transport: mock, events: PulseEventBus())
        let made = try await client.response(
            for: .post, "/users/{id}", path: ["id": "a/b"], body: ["name": "Ada"], query: ["dry": true],
            headers: ["X-A": "1"], as: User.self)
        #expect(made.value == User() && made.statusCode == 201 && made.headers["Location"] == "/users/1")
        let request = try #require(mock.requests.last)
        #expect(request.httpMethod == "POST" && request.value(forHTTPHeaderField: "X-A") == "1")
        #expect(request.url?.absoluteString == "https://api.example.com/v1/users/a%2Fb?dry=true")
        #expect(request.httpBody == Data(#"{"name":"Ada"}"#.utf8))
        let inferred: DecodedResponse<User> = try await client.response(for: .get, "/users/1")
        #expect(inferred.value == User())
        let path = "/users/a/b"
        let encoded: DecodedResponse<User> = try await client.response(for: .put, "/users/\("a/b")", body: User())
        let byText = try await client.response(for: .put, path, body: User(), as: User.self)
        #expect(encoded.value == byText.value)
        let last = mock.requests.suffix(2)
        #expect(last.map { $0.url?.absoluteString.dropFirst(26) } == ["/users/a%2Fb", "/users/a/b"])
        let users = try last.map { try JSONDecoder().decode(User.self, from: $0.httpBody ?? Data()) }
        #expect(users == [User(), User()])
    }

    @Test func theTargetIsAStringAURLOrATemplate() async throws {
        let (id, variable, slash) = (7, "/users?page=2", "a/b")
        let url = try #require(URL(string: "https://other.example/a?b=c"))
        let relative = try #require(URL(string: "/users?page=3"))
        let template: PathTemplate = "/users/{id}"
        _ = try await client.get("/users/\(id)", as: User.self)
        _ = try await client.get(variable, as: User.self)
        _ = try await client.get(relative, as: User.self)
        _ = try await client.get(template, path: ["id": "a/b"], as: User.self)
        _ = try await client.get("/users/{id}", path: ["id": id], as: User.self)
        _ = try await client.get("/users/\(slash)", as: User.self)
        _ = try await client.request(Request<User>(.get, variable))
        _ = try await client.request(Request<User>(variable))
        _ = try await client.request(Request<User>(.get, relative))
        _ = try await client.request(Request<User>(.get, template, path: ["id": id]))
        _ = try await client.request(Request<User>(.get, "/users/{id}", path: ["id": id]))
        _ = try await client.request(Request<User>("/users/{id}", path: ["id": id]))
        _ = try await client.request(Request<User>(.get, "/users/\(id)"))
        #expect(
            sent.map { $0.dropFirst(7) } == [
                "/users/7", "/users?page=2", "/users?page=3", "/users/a%2Fb", "/users/7", "/users/a%2Fb",
                "/users?page=2", "/users?page=2", "/users?page=3", "/users/7", "/users/7", "/users/7", "/users/7",
            ])
        _ = try await client.get(url, as: User.self)
        _ = try await client.request(Request<User>(.get, url))
        try await client.post(url)
        try await client.delete(url)
        #expect(mock.requests.suffix(4).allSatisfy { $0.url == url })
    }

    /// The values of a literal are encoded in each method that takes a path. A `String` variable is a ready path.
    @Test func everyMethodByPathEncodesTheValuesOfALiteral() async throws {
        let (raw, ready) = ("a/b?c", "/x/a/b?c")
        let user: User = try await client.get("/x/\(raw)")
        let head = try await client.head("/x/\(raw)")
        try await client.post("/x/\(raw)")
        try await client.post("/x/\(raw)", body: user)
        let posted: User = try await client.post("/x/\(raw)", body: ["a": 1])
        try await client.put("/x/\(raw)", body: user)
        let put: User = try await client.put("/x/\(raw)", body: user)
        try await client.patch("/x/\(raw)", body: user)
        let patched: User = try await client.patch("/x/\(raw)", body: user)
        try await client.delete("/x/\(raw)")
        let deleted: User = try await client.delete("/x/\(raw)")
        #expect([posted, put, patched, deleted] == [user, user, user, user] && head.statusCode == 200)
        for try await bytes in try await client.bytes("/x/\(raw)").bytes { #expect(!bytes.isEmpty) }
        for try await line in client.lines("/x/\(raw)") { #expect(line.hasPrefix("{")) }
        for try await value in client.jsonLines("/x/\(raw)", of: User.self) { #expect(value == user) }
        #expect(sent.count == 14)
        #expect(sent.allSatisfy { $0.hasSuffix(" /v1/x/a%2Fb%3Fc") })

        let _: User = try await client.get(ready)
        _ = try await client.head(ready)
        try await client.post(ready)
        try await client.post(ready, body: user)
        let _: User = try await client.post(ready, body: user)
        try await client.put(ready, body: user)
        let _: User = try await client.put(ready)
        try await client.patch(ready)
        let _: User = try await client.patch(ready, body: user)
        try await client.delete(ready)
        let _: User = try await client.delete(ready)
        for try await line in client.lines(ready) { #expect(line.hasPrefix("{")) }
        #expect(sent.count == 26)
        #expect(sent.suffix(12).allSatisfy { $0.hasSuffix(" /v1/x/a/b?c") })
    }

    @Test func aRefusedValueOfALiteralSendsNothing() async throws {
        let dots = ".."
        let error = await #expect(throws: PulseError.self) { try await client.get("/x/\(dots)/y", as: User.self) }
        #expect(error?.kind == .invalidRequest)
        #expect(mock.requests.isEmpty)
    }

    @Test func aLiteralTemplateWithoutValuesIsAnError() async {
        for request in [Request<User>(.get, "/users/{id}"), Request<User>("/users/{id}")] {
            let error = await #expect(throws: PulseError.self) { try await client.request(request) }
            #expect(error?.kind == .invalidRequest)
        }
        let all: [PulseClient.PathValues] = [[:], ["name": 1]]
        for values in all {
            let error = await #expect(throws: PulseError.self) {
                try await client.get("/users/{id}", path: values, as: User.self)
            }
            #expect(error?.kind == .invalidRequest)
        }
        #expect(mock.requests.isEmpty)
    }

    @Test func verbsTakeAQueryHeadersAndOptions() async throws {
        let cursor: String? = nil
        let page: Int? = 2
        _ = try await client.get(
            "/a?x=1", query: ["q": "a&b", "page": page, "cursor": cursor, "exact": true], as: User.self)
        let strings = ["b": "2", "a": "1"]
        let _: User = try await client.get("/b", query: strings, headers: ["X-A": "1"])
        try await client.post("/c", body: User(), query: ["dry": true], headers: ["X-A": "2"])
        try await client.delete(
            "/d", query: ["all": 1], headers: ["X-A": "3"], options: .init().with(\.tag, value: "t"))
        _ = try await client.head("/e", query: ["f": 1.5], headers: ["X-A": "4"])
        _ = try await client.put("/f", body: .text("x"), headers: ["Content-Type": "text/css"], as: User.self)
        #expect(
            sent == [
                "GET /v1/a?x=1&exact=true&page=2&q=a%26b", "GET /v1/b?a=1&b=2", "POST /v1/c?dry=true",
                "DELETE /v1/d?all=1", "HEAD /v1/e?f=1.5", "PUT /v1/f",
            ])
        let fields = mock.requests.map { $0.value(forHTTPHeaderField: "X-A") }
        #expect(fields == [nil, "1", "2", "3", "4", nil])
        #expect(mock.requests.last?.value(forHTTPHeaderField: "Content-Type") == "text/css")
        // An option overrides a parameter, as it does an endpoint.
        try await client.post("/g", headers: ["X-A": "1"], options: .init().with(\.headers, value: ["x-a": "2"]))
        #expect(mock.requests.last?.value(forHTTPHeaderField: "X-A") == "2")
    }

    @Test func everyVerbTakesATimeout() async throws {
        _ = try await client.get("/a", as: User.self, timeout: 1)
        _ = try await client.head("/b", timeout: 2)
        _ = try await client.post("/c", body: .text("x"), as: User.self, timeout: 3)
        _ = try await client.post("/d", body: User(), as: User.self, timeout: 4)
        try await client.post("/e", timeout: 5)
        try await client.post("/f", body: User(), timeout: 6)
        _ = try await client.put("/g", body: .text("x"), as: User.self, timeout: 7)
        _ = try await client.put("/h", body: User(), as: User.self, timeout: 8)
        try await client.put("/i", timeout: 9)
        try await client.put("/j", body: User(), timeout: 10)
        _ = try await client.patch("/k", body: .text("x"), as: User.self, timeout: 11)
        _ = try await client.patch("/l", body: User(), as: User.self, timeout: 12)
        try await client.patch("/m", timeout: 13)
        try await client.patch("/n", body: User(), timeout: 14)
        _ = try await client.delete("/o", as: User.self, timeout: 15)
        try await client.delete("/p", timeout: 16)
        _ = try await client.response(for: .get, "/q", as: User.self, timeout: 17)
        // An option overrides the parameter.
        try await client.delete("/r", timeout: 1, options: .init { $0.timeout = 18 })
        let timeouts: [TimeInterval] = (1...18).map { TimeInterval($0) }
        #expect(mock.requests.map(\.timeoutInterval) == timeouts)
        let error = await #expect(throws: PulseError.self) { try await client.delete("/s", timeout: 0) }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func aBodyMayHaveVariablesOfDifferentTypes() async throws {
        let (name, age, manager): (String, Int, String?) = ("Ada", 36, nil)
        try await client.post("/a", body: ["name": name, "age": age])
        try await client.put("/b", body: ["name": name, "age": 36, "manager": manager, "tags": ["x", "y"]])
        try await client.patch("/c/\("d/e")", body: [name, age, nil])
        let posted: User = try await client.post("/f", body: ["name": name, "age": age])
        let put = try await client.put("/g", body: ["name": name, "age": age], as: User.self)
        let patched: User = try await client.patch("/h", body: ["name": name, "age": age])
        #expect([posted, put, patched] == [User(), User(), User()])
        #expect(
            sent == [
                "POST /v1/a", "PUT /v1/b", "PATCH /v1/c/d%2Fe", "POST /v1/f", "PUT /v1/g", "PATCH /v1/h",
            ])
        let values = try mock.requests.map { try JSONDecoder().decode(JSONValue.self, from: $0.httpBody ?? Data()) }
        let pair: JSONValue = ["name": "Ada", "age": 36]
        let nested: JSONValue = ["name": "Ada", "age": 36, "manager": nil, "tags": ["x", "y"]]
        let list: JSONValue = ["Ada", 36, nil]
        #expect(values == [pair, nested, list, pair, pair, pair])
    }

    @Test func queryValuesMayBeOfAnyDescribableType() async throws {
        let missing: Int? = nil
        _ = try await client.request(
            Request<User>(.get, "/a").query("page", 2).query("exact", true).query("part", Substring("x"))
                .query("rate", 1.5).query("none", nil).query("missing", missing).query("id", Character("c")))
        #expect(sent == ["GET /v1/a?page=2&exact=true&part=x&rate=1.5&id=c"])
        struct Search: Endpoint {
            typealias Response = User
            let path = "/search"
            let page: Int
            var queryItems: [URLQueryItem] {
                [
                    URLQueryItem(name: "page", value: page), URLQueryItem(name: "q", value: "x"),
                    .init(name: "f", value: nil),
                ]
            }
        }
        _ = try await client.request(Search(page: 3))
        #expect(sent.last == "GET /v1/search?page=3&q=x&f")
    }

    @Test func graphQLVariablesMayBeNilOrOmitted() {
        let none: [String: JSONValue]? = nil
        _ = [
            RequestBody.graphQL(query: "q"), .graphQL(query: "q", variables: nil),
            .graphQL(query: "q", variables: none), .graphQL(query: "q", variables: ["a": 1, "b": nil]),
        ]
    }

    @Test func aPluginMayReturnANonOptionalOutcome() async throws {
        struct Replacing: PulsePlugin {
            let identifier = "com.example.replacing"

            func didReceive(
                _ result: Result<PulseResponse, PulseError>, for context: PluginContext
            ) async throws -> Result<PulseResponse, PulseError> {
                .failure(.emptyBody)
            }
        }
        struct Optional: PulsePlugin {
            let identifier = "com.example.optional"

            func didReceive(
                _ result: Result<PulseResponse, PulseError>, for context: PluginContext
            ) async throws -> Result<PulseResponse, PulseError>? {
                nil
            }
        }
        let client = PulseClient(
            baseURL: try #require(URL(string: "https://api.example.com")), plugins: [Optional(), Replacing()],
            transport: mock, events: PulseEventBus())
        let error = await #expect(throws: PulseError.self) { try await client.get("/a", as: User.self) }
        #expect(error?.kind == .emptyBody)
        #expect(try await self.client.request(Request<User>("/a").plugin(Optional())) == User())
    }
}
