// SPDX-License-Identifier: MIT
//! Everyday tasks in PulseKit, which the migration guides show beside the code of other clients.

import PulseKit
import PulseTesting

struct User: Codable, Sendable {
    let id: Int
    let name: String
}
let ada = User(id: 7, name: "Ada")

let server = try await MockServer.start()
server.on(.get, "/users/{id}") { request in
    guard request.parameters["id"] == "7" else { return .status(404) }
    return try .json(ada)
}
server.on(.get, "/users") { _ in try .json([ada]) }
server.on(.post, "/users") { .data($0.body, contentType: "application/json", status: 201) }
server.on(.post, "/session") { _ in .text("new") }
server.on(.post, "/echo") { .text($0.text) }
server.on(.post, "/portraits") { _ in .status(201) }
server.on(.get, "/report", script: [.status(503, headers: ["Retry-After": "0"]), .text("all is well")])
server.on(.get, "/me") { request in
    guard request.headers["Authorization"] == "Bearer new" else { return .status(401) }
    return try .json(ada)
}
let base = server.baseURL
let image = Data([0x89, 0x50, 0x4E, 0x47])
let password = "from-your-vault"

// snippet.client
let client = PulseClient(baseURL: base)
// snippet.end

// snippet.raw
var request = URLRequest(url: base.appendingPathComponent("users/7"))
request.setValue("application/json", forHTTPHeaderField: "Accept")

let response = try await client.rawRequest(request)
let sameUser = try response.decode(User.self)
// snippet.end
print(sameUser.name)

// snippet.decode
let user: User = try await client.get("/users/\(ada.id)")
// snippet.end
print(user.name)

// snippet.query
let found: [User] = try await client.get("/users", query: ["name": "Ada", "page": 1])
// snippet.end
print(found.count)

// snippet.form
struct SignIn: Encodable, Sendable {
    let user: String
    let password: String
}

let form = RequestBody.formURLEncoded(SignIn(user: "ada", password: password))
let token: String = try await client.post("/session", body: form)
// snippet.end
print(token.count)

// snippet.fields
struct Filter: Encodable, Sendable {
    let tags: [String]
    let isNew: Bool
    let since: Date
}
let filter = Filter(tags: ["a", "b"], isNew: true, since: Date(timeIntervalSinceReferenceDate: 0))

let usual = RequestBody.formURLEncoded(filter)  // isNew=true&since=2001-01-01T00:00:00Z&tags=a&tags=b

var fields = QueryEncoder()
fields.options.arrays = .brackets
fields.options.booleans = .numeric
fields.options.dates = .custom { String($0.timeIntervalSinceReferenceDate) }
let alamofires = RequestBody.formURLEncoded(filter, using: fields)  // isNew=1&since=0.0&tags[]=a&tags[]=b
// snippet.end
for body in [usual, alamofires] {
    let text: String = try await client.post("/echo", body: body)
    print(text.removingPercentEncoding ?? text)
}

// snippet.multipart
let portrait = RequestBody.multipart { form in
    form.append("Ada Lovelace", name: "title")
    form.append(image, name: "portrait", filename: "ada.png", mimeType: "image/png")
}
try await client.post("/portraits", body: portrait)
// snippet.end

// snippet.token
actor Tokens: TokenProvider {
    private var token: String?
    private let identity: PulseClient

    init(_ token: String?, identity: PulseClient) {
        self.token = token
        self.identity = identity
    }

    func accessToken() -> String? { token }

    func refreshToken() async throws -> String {
        let new: String = try await identity.post("/session")
        token = new
        return new
    }

    func handleAuthenticationFailure() { token = nil }
}

let authenticated = PulseClient(baseURL: base, plugins: [.auth(Tokens("old", identity: client))])
let me: User = try await authenticated.get("/me")
// snippet.end
print(me.name)

// snippet.retry
let patient = PulseClient(
    baseURL: base,
    plugins: [.retry(maxAttempts: 4, strategy: .exponentialWithJitter(base: 0.5, maxDelay: 30))])
let report: String = try await patient.get("/report")
// snippet.end
print(report)

// snippet.status
do {
    let user: User = try await client.get("/users/8")
    print(user.name)
} catch PulseError.http(let response) where response.statusCode == 404 {
    print("no such user")
}

let missing = RequestOptions().with(\.acceptedStatuses, value: .successful(and: 404))
let accepted = try await client.rawRequest(Request<User>(.get, "/users/8"), options: missing)
print(accepted.statusCode)
// snippet.end

// snippet.mock
let stub = Stub(.get, "/users/{id}").reply(.status(503), .json(User(id: 7, name: "Ada")))
let mocked = PulseClient(baseURL: base, transport: MockTransport(stubs: [stub]))
// snippet.end
print(mocked.configuration.baseURL == base, stub.count)

// snippet.log
let logged = PulseClient(baseURL: base, plugins: [.logger(options: .init(verbosity: .verbose))])
print(request.curlCommand())
// snippet.end

// snippet.pin
let pins = SSLPinningPolicy.publicKeyHashes([
    "sha256/1Cz7aHR2e9mR3VNDYx2yAbGFMQYXzBOAVaDupraKW3Y=",  // in use
    "sha256/qEEmrtCKTakhaKPpII2vXqK/owvIJruVAq44sgcCNZI=",  // in reserve
]).hosts("api.example.com")
let pinned = PulseClient(configuration: PulseConfiguration(baseURL: base).with(\.sslPinningPolicy, value: pins))
// snippet.end

// snippet.adapter
struct LanguagePlugin: PulsePlugin {
    let identifier = "com.example.language"

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        request.setValue("en", forHTTPHeaderField: "Accept-Language")
    }
}
// snippet.end

// snippet.builder
let built = PulseClient.Builder()
    .baseURL(base)
    .retry(RetryPolicy(maxAttempts: 4, backoffStrategy: .exponentialWithJitter(base: 1, maxDelay: 30)))
    .plugin(.cache(ttl: 600))
    .plugin(.auth { "new" })
    .plugin(LanguagePlugin())
    .build()
let own: User = try await built.get("/me")
// snippet.end
print(own.name)

// snippet.endpoint
struct CreateUser: Endpoint {
    typealias Response = User

    let parameters: User

    let path = "/users"
    let method = HTTPMethod.post
    var body: RequestBody { .json(parameters) }
}

let created = try await client.request(CreateUser(parameters: User(id: 8, name: "Grace")))
// snippet.end
print(created.name)

// snippet.values
let change = Request<User>(.post, "/users")
    .query("full", 1)
    .header("X-App-Version", "1.2")
    .body(.json(["id": 9, "name": "Barbara"]))
    .timeout(15)
let changed = try await client.request(change)
// snippet.end
print(changed.name)

// snippet.validator
struct Fault: Decodable, Error {
    let fault: Int
}

let validated = PulseClient(
    baseURL: base, plugins: [.validator(.errorBody(Fault.self) { $0.fault == 0 ? nil : $0 })])
// snippet.end

// snippet.codec
/// What a message of SwiftProtobuf offers.
protocol BinaryMessage: Sendable {
    init(serializedBytes bytes: Data) throws
    func serializedData() throws -> Data
}

struct MessageCall<Sent: BinaryMessage, Response: BinaryMessage>: Endpoint {
    let path: String
    let method = HTTPMethod.post
    let body: RequestBody
    let headers = ["Accept": "application/x-protobuf"]

    init(_ path: String, _ message: Sent) throws {
        self.path = path
        body = .data(try message.serializedData(), contentType: "application/x-protobuf")
    }

    func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Response {
        try Response(serializedBytes: response.data)
    }
}
// snippet.end

for client in [authenticated, patient, mocked, logged, pinned, built, validated, client] { await client.shutdown() }
await server.shutdown()
