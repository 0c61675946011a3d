// SPDX-License-Identifier: MIT
//! The tasks of the migration guides, written with URLSession alone.

import PulseKit
import PulseTesting

struct User: Codable, Sendable {
    let id: Int
    let name: String
}

let server = try await MockServer.start()
server.on(.get, "/users/{id}") { request in
    guard request.parameters["id"] == "7" else { return .status(404) }
    return try .json(User(id: 7, name: "Ada"))
}
server.on(.get, "/users") { _ in try .json([User(id: 7, name: "Ada")]) }
server.on(.post, "/session") { _ in .text("new") }
server.on(.post, "/portraits") { _ in .status(201) }
server.on(.get, "/me") { request in
    guard request.headers["Authorization"] == "Bearer new" else { return .status(401) }
    return try .json(User(id: 7, name: "Ada"))
}
let base = server.baseURL
let image = Data([0x89, 0x50, 0x4E, 0x47])
let password = "from-your-vault"

// snippet.decode
struct UnexpectedStatus: Error {
    let response: URLResponse
}

func load(_ request: URLRequest, in session: URLSession = .shared) async throws -> Data {
    let (data, response) = try await session.data(for: request)
    guard let http = response as? HTTPURLResponse, 200..<300 ~= http.statusCode else {
        throw UnexpectedStatus(response: response)
    }
    return data
}

let data = try await load(URLRequest(url: base.appendingPathComponent("users/7")))
let user = try JSONDecoder().decode(User.self, from: data)
// snippet.end
print(user.name)

// snippet.query
var components = URLComponents(url: base.appendingPathComponent("users"), resolvingAgainstBaseURL: false)
components?.queryItems = [URLQueryItem(name: "name", value: "Ada"), URLQueryItem(name: "page", value: "1")]
guard let url = components?.url else { throw URLError(.badURL) }
let found = try JSONDecoder().decode([User].self, from: try await load(URLRequest(url: url)))
// snippet.end
print(found.count)

// snippet.form
var fields = URLComponents()
fields.queryItems = [URLQueryItem(name: "user", value: "ada"), URLQueryItem(name: "password", value: password)]
let encoded = (fields.percentEncodedQuery ?? "").replacingOccurrences(of: "+", with: "%2B")

var signIn = URLRequest(url: base.appendingPathComponent("session"))
signIn.httpMethod = "POST"
signIn.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
signIn.httpBody = Data(encoded.utf8)
let token = String(decoding: try await load(signIn), as: UTF8.self)
// snippet.end
print(token.count)

// snippet.multipart
let boundary = UUID().uuidString
var body = Data()
body.append(Data("--\(boundary)\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nAda Lovelace\r\n".utf8))
body.append(Data("--\(boundary)\r\nContent-Disposition: form-data; name=\"portrait\"; filename=\"ada.png\"\r\n".utf8))
body.append(Data("Content-Type: image/png\r\n\r\n".utf8))
body.append(image)
body.append(Data("\r\n--\(boundary)--\r\n".utf8))

var upload = URLRequest(url: base.appendingPathComponent("portraits"))
upload.httpMethod = "POST"
upload.setValue("multipart/form-data; boundary=\(boundary)", forHTTPHeaderField: "Content-Type")
upload.httpBody = body
_ = try await load(upload)
// snippet.end

// snippet.token
actor TokenSession {
    private var token = "old"
    private var refresh: Task<String, any Error>?

    func data(for request: URLRequest) async throws -> Data {
        do {
            return try await send(request, with: token)
        } catch let error as UnexpectedStatus where (error.response as? HTTPURLResponse)?.statusCode == 401 {
            return try await send(request, with: try await refreshed())
        }
    }

    private func refreshed() async throws -> String {
        if let refresh { return try await refresh.value }
        let task = Task {
            var request = URLRequest(url: base.appendingPathComponent("session"))
            request.httpMethod = "POST"
            return String(decoding: try await load(request), as: UTF8.self)
        }
        refresh = task
        defer { refresh = nil }
        token = try await task.value
        return token
    }

    private func send(_ request: URLRequest, with token: String) async throws -> Data {
        var request = request
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        return try await load(request)
    }
}

let me = try await TokenSession().data(for: URLRequest(url: base.appendingPathComponent("me")))
// snippet.end
print(me.count)

// snippet.retry
func patiently(_ request: URLRequest) async throws -> Data {
    var wait: UInt64 = 500_000_000
    for _ in 1..<4 {
        do {
            return try await load(request)
        } catch let error as UnexpectedStatus where (error.response as? HTTPURLResponse)?.statusCode == 503 {
            try await Task.sleep(nanoseconds: wait)
            wait *= 2
        }
    }
    return try await load(request)
}
// snippet.end
print(try await patiently(URLRequest(url: url)).count)

// snippet.status
let (_, reply) = try await URLSession.shared.data(from: base.appendingPathComponent("users/8"))
switch (reply as? HTTPURLResponse)?.statusCode {
case 404: print("no such user")
case let status: print(status ?? 0)
}
// snippet.end

// snippet.mock
final class UserStub: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { request.url?.path == "/users/7" }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        guard let url = request.url,
            let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Data(#"{"id": 7, "name": "Ada"}"#.utf8))
        client?.urlProtocolDidFinishLoading(self)
    }

    override func stopLoading() {}
}

let configuration = URLSessionConfiguration.ephemeral
configuration.protocolClasses = [UserStub.self]
let mocked = URLSession(configuration: configuration)
// snippet.end
print(try await load(URLRequest(url: base.appendingPathComponent("users/7")), in: mocked).count)

// snippet.log
let started = Date()
let (bytes, received) = try await URLSession.shared.data(for: URLRequest(url: url))
let status = (received as? HTTPURLResponse)?.statusCode ?? 0
print("GET \(url.path) \(status), \(bytes.count) bytes in \(Date().timeIntervalSince(started)) s")
// snippet.end

await server.shutdown()
