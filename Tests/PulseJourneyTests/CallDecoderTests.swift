// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// A response or an event is decoded with the decoder of its call, unless another one is named.
@Suite(.throttled)
struct CallDecoderTests {
    private struct Refusal: Decodable, Sendable, Equatable {
        let refusedBecause: String
    }

    /// Decodes the response itself, and names no decoder.
    private struct GetRefusal: Endpoint {
        typealias Response = Refusal

        let path = "/refusal"

        func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Refusal {
            try response.decode(Refusal.self)
        }
    }

    private struct DecodingPlugin: PulsePlugin {
        let identifier = "decoding"
        let decoded = Locked<[Refusal]>([])

        func didReceive(
            _ result: Result<PulseResponse, PulseError>, for context: PluginContext
        ) async throws -> Result<PulseResponse, PulseError>? {
            let refusal = try result.get().decode(Refusal.self)
            decoded.withLock { $0.append(refusal) }
            return nil
        }
    }

    private static let sold = Refusal(refusedBecause: "sold out")
    private static let text = #"{"refused_because":"sold out"}"#

    private static func client(
        _ reply: Stub.Reply = .text(CallDecoderTests.text), decoder: any ResponseDecoder = CallDecoderTests.snake,
        plugins: [any PulsePlugin] = []
    ) -> PulseClient {
        ClientStage.client(
            .root.with(\.decoder, value: decoder), plugins: plugins, over: MockTransport(stubs: [Stub().reply(reply)]))
    }

    private static var snake: any ResponseDecoder {
        JSONResponseDecoder { $0.keyDecodingStrategy = .convertFromSnakeCase }
    }

    @Test func aRawResponseIsDecodedWithTheClientsDecoder() async throws {
        let response = try await Self.client().rawRequest(GetRefusal())
        #expect(try response.decode(Refusal.self) == Self.sold)
        let (_, head) = try await Self.client().bytes("/refusal")
        var whole = head
        whole.data = Data(Self.text.utf8)
        #expect(try whole.decode(Refusal.self) == Self.sold)
    }

    @Test func aDecodeOfAnEndpointNeedsToNameNoDecoder() async throws {
        let refusal = try await Self.client().request(GetRefusal())
        #expect(refusal == Self.sold)
    }

    /// Responds with what another client has received.
    private struct ForwardingPlugin: PulsePlugin {
        let identifier = "forwarding"
        let other: PulseClient

        func intercept(
            _ request: URLRequest, for context: PluginContext, next: PluginChain
        ) async throws -> PulseResponse {
            try await other.rawRequest(Request<EmptyResponse>(.get, "/refusal?lane=hidden"))
        }
    }

    @Test(arguments: [true, false])
    func aResponseOfAnotherClientGetsOnlyWhatItLacks(hasDecoder: Bool) async throws {
        let other = Self.client(decoder: hasDecoder ? Self.snake : .json)
        let configuration = PulseConfiguration().with(\.baseURL, value: URL(string: "https://home.example.com"))
            .with(\.decoder, value: hasDecoder ? .json : Self.snake).with(\.secretHeaders, value: ["lane"])
        let client = ClientStage.client(
            configuration, plugins: [ForwardingPlugin(other: other)], over: MockTransport(stubs: []))
        let response = try await client.rawRequest(GetRefusal())
        #expect(try response.decode(Refusal.self) == Self.sold)
        #expect("\(response)".contains("lane=") && !"\(response)".contains("hidden"))
    }

    @Test func theOptionOfTheCallComesFirst() async throws {
        let options = RequestOptions().with(\.decoder, value: Self.snake)
        let response = try await Self.client(decoder: .json).rawRequest(GetRefusal(), options: options)
        #expect(try response.decode(Refusal.self) == Self.sold)
        let plain = RequestOptions().with(\.decoder, value: JSONResponseDecoder())
        let other = try await Self.client().rawRequest(GetRefusal(), options: plain)
        #expect(throws: PulseError.self) { try other.decode(Refusal.self) }
        #expect(try other.decode(Refusal.self, using: Self.snake) == Self.sold)
    }

    @Test(arguments: [401, 409, 500])
    func theBodyOfAnErrorIsDecodedWithTheClientsDecoder(status: Int) async throws {
        let client = Self.client(.text(Self.text, status: status))
        let error = await #expect(throws: PulseError.self) { try await client.request(GetRefusal()) }
        #expect(try error?.response?.decode(Refusal.self) == Self.sold)
        let streamed = await #expect(throws: PulseError.self) { try await client.bytes("/refusal") }
        #expect(try streamed?.response?.decode(Refusal.self) == Self.sold)
    }

    @Test func pluginsDecodeWithTheClientsDecoder() async throws {
        let plugin = DecodingPlugin()
        let validator = Validator { _, response, _ in
            try response.decode(Refusal.self) == Self.sold ? .accept : .fail(PulseError.emptyBody)
        }
        let client = Self.client(plugins: [plugin, ValidatorPlugin([validator])])
        _ = try await client.rawRequest(GetRefusal())
        #expect(plugin.decoded.withLock { $0 } == [Self.sold])
    }

    @Test func aStoredResponseIsDecodedWithTheClientsDecoder() async throws {
        let client = Self.client(plugins: [.cache(ttl: 60)])
        _ = try await client.rawRequest(GetRefusal())
        let stored = try await client.rawRequest(GetRefusal())
        #expect(stored.origin == .cache)
        #expect(try stored.decode(Refusal.self) == Self.sold)
    }

    @Test func anEventIsDecodedWithTheClientsDecoder() async throws {
        let client = Self.client(.events([ServerSentEvent(data: Self.text)]))
        let stream = EventStream.Options().with(\.reconnect, value: .never)
        var decoded: [Refusal] = []
        for try await event in client.serverSentEvents("/refusal", stream: stream) {
            decoded.append(try event.decode(Refusal.self))
            #expect(event == ServerSentEvent(data: Self.text))
        }
        #expect(decoded == [Self.sold])
    }

    @Test func anEventOfATestIsDecodedAsPlainJSON() throws {
        let event = ServerSentEvent(data: #"{"refusedBecause":"sold out"}"#)
        #expect(try event.decode(Refusal.self) == Self.sold)
        #expect(Mirror(reflecting: event).children.compactMap(\.label) == ["type", "data", "id"])
    }
}
