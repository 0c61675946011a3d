// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import Testing

/// The programs of this folder compile in the language modes 6 and 5, and mean what they say.
@Suite(.timeLimit(.minutes(15)))
struct WrittenProgramsTests {
    private static let list = Data(#"[{"id": 1, "name": "Ada"}]"#.utf8)
    private let url: URL

    init() throws {
        url = try #require(URL(string: "https://api.example.com"))
    }

    @Test func theCallsSendWhatTheEndpointsSay() async throws {
        let transport = makeTransport(Self.list)
        let client = PulseClient(
            configuration: makeConfiguration(url), plugins: [AuthPlugin(tokenProvider: Session()), TimingPlugin()],
            transport: transport)
        let (users, status) = try await loadUsers(client)
        #expect(users == [User(id: 1, name: "Ada")])
        #expect(status == 200)
        _ = try await client.request(Login(name: "Ada"))
        _ = try await client.request(UploadAvatar(image: Data("png".utf8)))
        _ = try await client.rawRequest(CreateUser(user: User(id: 2, name: "Grace")))
        _ = try await client.rawRequest(SearchUsers())
        await client.shutdown()
        let sent = transport.requests
        #expect(
            sent.map { "\($0.httpMethod ?? "") \($0.url?.absoluteString ?? "")" } == [
                "GET https://api.example.com/users?page=1", "GET https://api.example.com/users?page=1",
                "POST https://api.example.com/login", "POST https://api.example.com/avatar",
                "POST https://api.example.com/users", "POST https://api.example.com/graphql",
            ])
        let first = try #require(sent.first)
        let names = ["Authorization", "X-Screen", "X-App-Version", "X-Endpoint"]
        #expect(names.map { first.value(forHTTPHeaderField: $0) } == ["Bearer first", "users", "1.2", "/users"])
        let bodies = sent.map { $0.httpBody ?? Data() }
        #expect(bodies[2] == Data("user=Ada".utf8))
        #expect(String(decoding: bodies[3], as: UTF8.self).contains(#"filename="me.png""#))
        let created = try JSONDecoder().decode(User.self, from: bodies[4])
        #expect(created == User(id: 2, name: "Grace"))
        #expect(String(decoding: bodies[5], as: UTF8.self).contains("users { id }"))
    }

    @Test func theCacheServesUntilItIsEmptied() async throws {
        let transport = makeTransport(Self.list)
        let cache = CachePlugin(ttl: 60, maxMemoryItems: 10)
        let client = PulseClient(configuration: makeConfiguration(url), plugins: [cache], transport: transport)
        let first = try await client.request(GetUsers())
        let second = try await client.request(GetUsers())
        #expect(first == second)
        #expect(transport.requests.count == 1)
        let page = try #require(URL(string: "https://api.example.com/users?page=1"))
        await empty(cache, of: page)
        _ = try await client.request(GetUsers())
        #expect(transport.requests.count == 2)
        await client.shutdown()
    }

    @Test func aGraphQLQueryReturnsItsData() async throws {
        let transport = makeTransport(Data(#"{"data": {"title": "Alien"}}"#.utf8))
        let client = PulseClient(configuration: makeConfiguration(url), transport: transport)
        let film = try await loadFilm(client)
        #expect(film == Film(title: "Alien"))
        await client.shutdown()
    }

    @Test func theCatchClausesMatch() async {
        let table: [(PulseError, String)] = [
            (.noConnection, "offline"), (.timeout(URLRequest(url: url)), "too slow"), (.unauthorized(), "log in"),
            (.rateLimited(retryAfter: 7), "wait 7.0"), (.sslPinningFailed(host: "a.example"), "not a.example"),
            (.decodingFailed(type: "User", underlying: CancellationError()), "no User: \(CancellationError())"),
            (.transport(.networkConnectionLost, underlying: URLError(.networkConnectionLost)), "try again"),
            (.emptyBody, "failed"),
        ]
        for (error, expected) in table {
            let text = await message { throw error }
            #expect(text == expected)
        }
    }
}
