// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// Request bodies that each server reads, or refuses unread.
@Suite(.servers, .timeLimit(.minutes(5)))
struct UploadTests {
    enum Form: Sendable, CaseIterable {
        case bytes, lengthened, chunked

        func body(_ data: Data) -> TransportRequest.Body {
            switch self {
            case .bytes: .bytes(data)
            case .lengthened: .stream(RequestBody.Stream(length: Int64(data.count)) { ByteStream([data]) })
            case .chunked: .stream(RequestBody.Stream(length: nil) { ByteStream([data]) })
            }
        }
    }

    @Test(arguments: Route.all, Form.allCases)
    func anUploadComesBackWhole(route: Route, form: Form) async throws {
        let large = try Route.file("large")
        try await withTransport(SocketTransport()) { transport in
            for data in [Data("small".utf8), large] {
                let response = try await transport.send(
                    route.request("/echo", method: "POST") { $0.body = form.body(data) })
                #expect(response.statusCode == 200)
                #expect(response.timings?.networkProtocol == route.networkProtocol)
                let isSame = response.data == data
                #expect(isSame)
            }
        }
    }

    /// The interim response may come at any time during the body, which follows at once.
    @Test(arguments: Route.all)
    func anExpectationIsNotTheResponse(route: Route) async throws {
        let data = try Route.file("large")
        try await withTransport(SocketTransport()) { transport in
            for _ in 1...3 {
                let response = try await transport.send(
                    route.request("/echo", method: "POST") {
                        $0.urlRequest.setValue("100-continue", forHTTPHeaderField: "Expect")
                        $0.body = .bytes(data)
                    })
                #expect(response.statusCode == 200)
                let isSame = response.data == data
                #expect(isSame)
            }
        }
    }

    /// The server does not read the body.
    @Test(arguments: Route.all, Form.allCases)
    func aRefusalIsTheResponse(route: Route, form: Form) async throws {
        let data = try Route.file("large")
        try await withTransport(SocketTransport()) { transport in
            for _ in 1...5 {
                let refused = try await transport.send(
                    route.request("/refused", method: "POST") { $0.body = form.body(data) })
                #expect(refused.statusCode == 413)
                #expect(refused.text == "refused")
                let moved = try await transport.send(
                    route.request("/moved", method: "POST") { $0.body = form.body(data) })
                #expect(moved.statusCode == 307)
                #expect(moved.headers["Location"]?.hasSuffix("/echo") == true)
                let later = try await transport.send(route.request("/none"))
                #expect(later.statusCode == 204)
            }
        }
    }

    /// The redirect comes before the body is read.
    @Test(arguments: Route.all)
    func aRedirectedUploadArrivesWhole(route: Route) async throws {
        let data = try Route.file("large")
        try await route.withClient { client in
            let response = try await client.rawRequest(Post(path: "/moved", body: .data(data)))
            #expect(response.statusCode == 200)
            let isSame = response.data == data
            #expect(isSame)
        }
    }
}
