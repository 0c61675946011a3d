// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// No text shows a secret, whether printed, interpolated, reflected or dumped.
@Suite(.throttled)
struct SecretTextsTests {
    static let secret = "hunter2"
    private static let headers = ["Authorization": "Bearer hunter2", "X-Plain": "1"]

    private static func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(reflecting: value), dumped, "\([value])"]
    }

    private static var configuration: PulseConfiguration {
        PulseConfiguration().with(\.baseURL, value: URL(string: "https://ada:hunter2@api.example.com/?token=hunter2"))
            .with(\.defaultHeaders, value: headers)
            .with(\.proxy, value: .http(host: "proxy", port: 1).credentials(username: "ada", password: secret))
            .with(\.tls, value: TLSSettings(clientCertificate: .init(pkcs12: Data(secret.utf8), password: secret)))
    }

    private static var options: RequestOptions {
        RequestOptions().with(\.headers, value: headers).with(\.tag, value: "feed")
    }

    private static func request() throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://api.example.com/users?token=hunter2")))
        request.allHTTPHeaderFields = headers
        return request
    }

    @Test func descriptionsOfValuesShowNoSecret() throws {
        let request = try Self.request()
        let values: [Any] = [
            Self.options, Self.configuration, PulseClient.Builder(Self.configuration),
            HTTPHeaders(Self.headers), HTTPHeaders.Field.authorization(bearer: Self.secret),
            TransportRequest(
                urlRequest: request, body: .bytes(Data(#"{"password":"hunter2"}"#.utf8)),
                proxy: Self.configuration.proxy),
            TransportRequest.Body.bytes(Data(Self.secret.utf8)),
            PulseResponse.Redirect(statusCode: 302, url: try #require(request.url)),
            PulseResponse(statusCode: 200, headers: HTTPHeaders(Self.headers), request: request),
            Request<User>(.post, "/users").header("Authorization", "Bearer hunter2").query("token", Self.secret)
                .body(.json(["password": "hunter2"])),
            RequestBody.text("password=hunter2"), RequestBody.json(["password": "hunter2"]),
            MultipartFormData(parts: [.init(name: "password", data: Data(Self.secret.utf8))]),
            Self.configuration.tls, Self.configuration.proxy,
        ]
        for value in values {
            for text in Self.texts(of: value) {
                #expect(!text.contains(Self.secret), "\(type(of: value)): \(text)")
            }
        }
    }

    @Test func descriptionsThatAPluginSeesShowNoSecret() async throws {
        let texts = Locked<[String]>([])
        let spying = ClosurePlugin(scope: .call) { request, context, next in
            context.store["password"] = Self.secret
            context.markSecret(header: "X-Mine")
            let all = [context as Any, next, context.store, context.options].flatMap { Self.texts(of: $0) }
            texts.withLock { $0 += all }
            return try await next(request)
        }
        let transport = MockTransport { PulseResponse(statusCode: 200, data: User.json, request: $0) }
        let client = ClientStage.client(Self.configuration, plugins: [spying], over: transport)
        let endpoint = GetUser(headers: Self.headers, options: Self.options)
        let decoded = try await client.response(for: endpoint)
        _ = try await client.request(
            GetUser(path: "https://other.example.com/x", headers: Self.headers, options: Self.options))
        for text in texts.withLock({ $0 }) + Self.texts(of: client) + Self.texts(of: decoded) {
            #expect(!text.contains(Self.secret), "\(text)")
        }
    }

    @Test func redactedDescriptionsStillIdentifyTheirValue() throws {
        #expect("\(Self.options)".contains("feed"))
        #expect("\(Self.options)".contains("X-Plain"))
        #expect("\(Self.configuration)".contains("api.example.com"))
        #expect("\(HTTPHeaders.Field.accept("a/b"))" == "Accept: a/b")
        #expect("\(PluginContext.mock(for: .mock(.post, "/users")))".contains("POST"))
        #expect("\(TransportRequest(urlRequest: try Self.request()))".contains("api.example.com/users"))
    }
}
