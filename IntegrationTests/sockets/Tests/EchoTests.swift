// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// Messages of every size, in every shape.
@Suite(.servers, .timeLimit(.minutes(5)))
struct EchoTests {
    private static func options(_ compression: SocketOptions.Compression) -> SocketOptions {
        SocketOptions(reconnect: .never, compression: compression)
    }

    /// Whether the server has agreed on compression.
    private static func expectAgreement(
        _ compression: SocketOptions.Compression
    ) -> @Sendable (PulseSocket.Greeting) async throws -> Void {
        { greeting in
            let agreed = greeting.response.headers["Sec-WebSocket-Extensions"]
            #expect((agreed?.hasPrefix("permessage-deflate") == true) == (compression == .offered))
        }
    }

    @Test(arguments: Library.allCases, [SocketOptions.Compression.off, .offered])
    func messagesOfEverySizeComeBack(library: Library, compression: SocketOptions.Compression) async throws {
        try await SocketServers.withClient(of: library) { client in
            let endpoint = Conversation(path: "/echo", socketOptions: Self.options(compression))
            try await PulseSocket.with(endpoint, client, onOpen: Self.expectAgreement(compression)) { socket in
                for size in SocketMessage.sizes {
                    try await socket.expectEcho(.sample(size, isText: true))
                    try await socket.expectEcho(.sample(size, isText: false))
                }
            }
        }
    }

    /// `websockets` cuts within characters, wsproto sends a ping behind each fragment, and an empty last one.
    @Test(arguments: [Library.websockets, .wsproto], [SocketOptions.Compression.off, .offered])
    func fragmentsOfEverySizeBecomeMessages(library: Library, compression: SocketOptions.Compression) async throws {
        try await SocketServers.withClient(of: library) { client in
            for (fragment, size) in [(1, 1_000), (125, 1_000), (126, 1_000), (65_535, 200_000), (65_536, 200_000)] {
                let name = SocketServers.newName()
                let endpoint = Conversation(
                    path: "/fragments/\(fragment)", name: name, socketOptions: Self.options(compression))
                // The pongs were sent before the last message comes back.
                let messages = [true, false].map { SocketMessage.sample(size, isText: $0) } + [.binary(Data())]
                try await PulseSocket.with(endpoint, client, onOpen: Self.expectAgreement(compression)) { socket in
                    for message in messages { try await socket.expectEcho(message) }
                }
                let record = try await SocketServers.record(name)
                #expect(record.code == 1000)
                guard library == .wsproto else { continue }
                let counts = messages.map { message in
                    // wsproto cuts texts between characters.
                    if case .text(let text) = message { text.unicodeScalars.count } else { message.size }
                }
                var pings: [String] = []
                for count in counts { pings += (0..<max(1, (count + fragment - 1) / fragment)).map { String($0) } }
                let pongs = try #require(record.pongs)
                if pings.count <= 64 { #expect(pongs == pings) }
                // Of more pings the last 64 that wait get a pong, in their order.
                var rest = pings[...]
                for pong in pongs {
                    let index = try #require(rest.firstIndex(of: pong))
                    rest = rest[(index + 1)...]
                }
                #expect(rest.isEmpty)
            }
        }
    }

    /// The handshake's response is whole; what follows comes in pieces of a byte.
    @Test(arguments: [SocketOptions.Compression.off, .offered])
    func messagesThatComeByteByByteAreRead(compression: SocketOptions.Compression) async throws {
        try await SocketServers.withClient(of: .wsproto) { client in
            let endpoint = Conversation(path: "/single", socketOptions: Self.options(compression))
            try await PulseSocket.with(endpoint, client, onOpen: Self.expectAgreement(compression)) { socket in
                for size in SocketMessage.sizes where size <= 65_536 {
                    try await socket.expectEcho(.sample(size, isText: true))
                    try await socket.expectEcho(.sample(size, isText: false))
                }
            }
        }
    }

    /// Each side has to keep to a small window, or to none between messages.
    @Test(arguments: [
        (Library.websockets, "", ["server_max_window_bits=12", "client_max_window_bits=12"]),
        (.wsproto, "client_max_window_bits=9", ["client_max_window_bits=9"]),
        (.wsproto, "server_no_context_takeover=1", ["server_no_context_takeover"]),
        (.wsproto, "client_no_context_takeover=1", ["client_no_context_takeover"]),
        (
            .wsproto, "client_max_window_bits=12&server_no_context_takeover=1&client_no_context_takeover=1",
            ["client_no_context_takeover", "server_no_context_takeover", "client_max_window_bits=12"]
        ),
    ])
    func theAgreedCompressionIsKept(library: Library, query: String, agreement: [String]) async throws {
        try await SocketServers.withClient(of: library) { client in
            try await PulseSocket.with(
                Conversation(path: "/echo?\(query)"), client,
                onOpen: { greeting in
                    let agreed = greeting.response.headers["Sec-WebSocket-Extensions"] ?? ""
                    for parameter in agreement { #expect(agreed.contains("; \(parameter)"), "\(agreed)") }
                }
            ) { socket in
                for size in [0, 1_000, 5_000, 100_000, 5_000] {
                    try await socket.expectEcho(.sample(size, isText: true))
                    try await socket.expectEcho(.sample(size, isText: false))
                }
            }
        }
    }

    /// RFC 6455, section 5.1.
    @Test
    func everyFrameHasAMaskOfItsOwnAndALargeMessageLeavesInFragments() async throws {
        let name = SocketServers.newName()
        try await SocketServers.withClient(of: .wsproto) { client in
            let endpoint = Conversation(path: "/echo", name: name, socketOptions: Self.options(.off))
            try await PulseSocket.with(endpoint, client) { socket in
                for size in [0, 125, 126, 65_535, 65_536, 65_537, 1 << 20] {
                    try await socket.expectEcho(.sample(size, isText: false))
                }
                _ = try await socket.ping()
            }
        }
        let frames = try #require(try await SocketServers.record(name).frames)
        let (whole, first, last, ping, close): (UInt8, UInt8, UInt8, UInt8, UInt8) = (0x82, 0x02, 0x80, 0x89, 0x88)
        let parts = [UInt8](repeating: 0, count: 14)
        let small = [UInt8](repeating: whole, count: 5)
        let kinds: [UInt8] = small + [first, last, first] + parts + [last, ping, close]
        #expect(frames.map(\.first) == kinds)
        let sizes = [0, 125, 126, 65_535, 65_536, 65_536, 1] + [Int](repeating: 65_536, count: 16)
        #expect(frames.prefix(sizes.count).map(\.size) == sizes)
        #expect(frames.allSatisfy { $0.mask.count == 8 })
        #expect(Set(frames.map(\.mask)).count == frames.count)
    }

    @Test(arguments: Library.allCases)
    func theServerChoosesTheSubprotocol(library: Library) async throws {
        try await SocketServers.withClient(of: library) { client in
            for (offered, chosen) in [(["chat.v3", "chat.v1"], "chat.v1"), (["chat.v3"], nil), ([], nil)] {
                let endpoint = Conversation(path: "/echo", subprotocols: offered)
                try await PulseSocket.with(endpoint, client) { socket in
                    guard case .open(chosen) = socket.state else {
                        Issue.record("\(socket.state)")
                        return
                    }
                    try await socket.expectEcho(.text("hello"))
                }
            }
        }
    }
}
