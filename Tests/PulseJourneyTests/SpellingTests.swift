// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// Typical client code with only the public API: it must compile and have the expected meaning.
@Suite(.throttled)
struct SpellingTests {
    private struct User: Codable, Sendable, Equatable {
        let id: Int
        let name: String
    }

    private struct NewUser: Encodable, Sendable {
        let name: String
    }

    private struct GetUsers: Endpoint {
        typealias Response = [User]
        let page: Int
        let path = "/users"
        var queryParameters: [String: String] { ["page": "\(page)"] }
    }

    private static let data = Data(#"[{"id": 1, "name": "Ada"}]"#.utf8)

    @Test func theQuickStartCompiles() async throws {
        let url = try #require(URL(string: "https://api.example.com"))
        let directory = FileManager.default.temporaryDirectory
        let config = PulseConfiguration(baseURL: url)
            .with(\.timeout, value: 20)
            .with(\.logLevel, value: .none)
            .with(\.defaultHeaders, value: ["X-App-Version": "1.2"])
            .with(\.decoder, value: .json { $0.keyDecodingStrategy = .convertFromSnakeCase })
            .with(
                \.retryPolicy,
                value: RetryPolicy(
                    maxAttempts: 3, backoffStrategy: .immediate,
                    retryableStatusCodes: [503], retryOnTimeout: false, retryOnNoConnection: false)
            )
            .with(
                \.offlineQueuePolicy,
                value: OfflineQueuePolicy(
                    isEnabled: false, maxQueueSize: 100,
                    persistsToDisk: true, requestExpiry: 86400, directory: directory)
            )
            .with(\.sslPinningPolicy, value: .disabled)
        let client = PulseClient(
            configuration: config,
            plugins: [
                HeadersPlugin(["X-A": "1"]), RetryPlugin(maxAttempts: 3), .retry(maxAttempts: 3),
                .headers(["X-B": "2"]),
            ],
            transport: MockTransport { request in
                PulseResponse(data: Self.data, httpResponse: .mock(statusCode: 200), request: request, latency: 0.01)
            })
        let users = try await client.request(GetUsers(page: 1))
        #expect(users == [User(id: 1, name: "Ada")])
        await client.shutdown()
    }

    @Test func theCatchClausesCompileAndMatch() async throws {
        func kind(ofStatus status: Int, headers: [String: String] = [:], body: Data = Self.data) async -> String {
            let client = PulseClient.Builder().baseURL(URL(fileURLWithPath: "/")).build()
            _ = client
            let failing = PulseClient(
                configuration: PulseConfiguration().with(\.baseURL, value: URL(string: "https://api.example.com"))
                    .with(\.retryPolicy, value: .none),
                transport: MockTransport { request in
                    PulseResponse(
                        data: body, httpResponse: .mock(statusCode: status, headers: headers), request: request,
                        latency: 0)
                })
            do {
                _ = try await failing.request(GetUsers(page: 1))
                return "ok"
            } catch PulseError.unauthorized {
                return "unauthorized"
            } catch PulseError.rateLimited(let retryAfter) {
                return "rateLimited \(retryAfter ?? 0)"
            } catch PulseError.decodingFailed(let type, _) {
                return "decodingFailed \(type)"
            } catch let error as PulseError {
                switch error {
                case .noConnection: return "noConnection"
                case .http(let response): return "http \(response.statusCode)"
                default: return "other"
                }
            } catch {
                return "not a PulseError"
            }
        }
        #expect(await kind(ofStatus: 200) == "ok")
        #expect(await kind(ofStatus: 401) == "unauthorized")
        #expect(await kind(ofStatus: 429, headers: ["Retry-After": "7"]) == "rateLimited 7.0")
        #expect(await kind(ofStatus: 200, body: Data("{}".utf8)) == "decodingFailed Array<User>")
        #expect(await kind(ofStatus: 500) == "http 500")
    }

    @Test func verbsAndTheBuilderCompile() async throws {
        let url = try #require(URL(string: "https://api.example.com"))
        let mock = MockTransport { request in
            let body = request.httpMethod == "GET" ? Self.data : Data(#"{"id": 2, "name": "Grace"}"#.utf8)
            return PulseResponse(data: body, httpResponse: .mock(statusCode: 200), request: request, latency: 0)
        }
        let client = PulseClient.Builder().baseURL(url).timeout(20).header("X-A", "1")
            .plugin(HeadersPlugin(["X-API-Version": "2"])).retry(.default).transport(mock).build()
        let page: [User] = try await client.get("/categories?page=2")
        let made: User = try await client.post("/users", body: NewUser(name: "Ada"))
        #expect(page.count == 1)
        #expect(made.name == "Grace")
        let mixed: User = try await client.post("/users", body: ["name": "Ada", "age": 36, "tags": ["a", nil]])
        #expect(mixed == made)
        let sent = try JSONDecoder().decode(JSONValue.self, from: #require(mock.requests.last?.httpBody))
        #expect(sent == ["name": "Ada", "age": 36, "tags": ["a", nil]])
        let uniform: User = try await client.post("/users", body: ["name": "Ada"])
        #expect(uniform == made)
        #expect(mock.requests.last?.httpBody == Data(#"{"name":"Ada"}"#.utf8))
        let users = try await client.request(
            Request<[User]>(.get, "/users/{id}", path: ["id": 7]).query("expand", "team"))
        #expect(users.count == 1)
        #expect(mock.requests.last?.url?.absoluteString == "https://api.example.com/users/7?expand=team")
        _ = RetryPlugin(
            maxAttempts: 4, strategy: .exponentialWithJitter(base: 1, maxDelay: 30), shouldRetry: { $0.isRetryable })
    }

    @Test func theEventSwitchCompiles() async throws {
        let bus = PulseEventBus()
        let events = bus.events
        let client = PulseClient(
            configuration: PulseConfiguration().with(\.baseURL, value: URL(string: "https://api.example.com")),
            transport: MockTransport { PulseResponse(statusCode: 200, data: Self.data, request: $0) }, events: bus)
        _ = try await client.request(GetUsers(page: 1))
        var lines: [String] = []
        loop: for await event in events {
            switch event {
            case .requestCompleted(let result, let context, let latency):
                lines.append("\((try? result.get().statusCode) ?? 0) \(context.endpointPath) \(latency >= 0)")
                break loop
            case .requestRetrying(let context, let error, let attempt):
                lines.append("\(context.attempt) \(error) \(attempt)")
            case .circuitBreakerOpened(let endpoint):
                lines.append(endpoint)
            case .offlineQueueDraining(let count):
                lines.append("\(count)")
            case .offlineQueueRequestCompleted(let id, let success):
                lines.append("\(id) \(success)")
            default:
                break
            }
        }
        #expect(lines == ["200 /users true"])
    }
}
