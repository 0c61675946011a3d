// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import SwiftUI
import Testing

@testable import PulseUI

/// Pictures of views, which SwiftUI draws without a window. A list is not drawn this way, so these are its rows.
@Suite(.serialized, .timeLimit(.minutes(15)))
@MainActor
struct PictureTests {
    private struct NameView: View {
        @APIRequest(Request<String>("/name"), autoFetch: true) private var name

        var body: some View { Text(name.value ?? "…") }
    }

    private static func client(_ plugins: [any PulsePlugin] = []) -> PulseClient {
        PulseClient(
            configuration: PulseConfiguration().with(\.baseURL, value: URL(string: "https://api.example.com")),
            plugins: plugins,
            transport: MockTransport(stubs: [Stub(.get, "/name").reply(.text("Ada"))]), events: PulseEventBus())
    }

    @available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
    private static func picture(_ renderer: ImageRenderer<some View>) throws -> Data {
        #if canImport(UIKit)
        try #require(renderer.uiImage?.pngData())
        #else
        try #require(renderer.nsImage?.tiffRepresentation)
        #endif
    }

    @Test func aPictureFollowsTheRequestOfItsView() async throws {
        guard #available(iOS 16, macOS 13, tvOS 16, watchOS 9, *) else { return }
        let client = Self.client()
        let renderer = ImageRenderer(content: NameView().environment(\.pulseClient, client))
        let before = try Self.picture(renderer)
        while try Self.picture(renderer) == before { await Task.yield() }
        let name = ImageRenderer(content: Text("Ada"))
        #expect(try Self.picture(renderer) == Self.picture(name))
        await client.shutdown()
    }

    @Test func theRowsAndTheWaterfallOfACallAreDrawn() async throws {
        guard #available(iOS 16, macOS 13, tvOS 16, watchOS 9, *) else { return }
        let recorder = PulseRecorder()
        let client = Self.client([.recorder(recorder)])
        let name: String = try await client.request(Request("/name"))
        #expect(name == "Ada")
        let model = ConsoleModel(recorder: recorder)
        let row = try #require(model.content.rows.first)
        let details = try #require(model.details(of: row.id))
        let line = try #require(details.chart.lines.first)
        let pictures = try [
            Self.picture(ImageRenderer(content: ConsoleRowView(row: row))),
            Self.picture(ImageRenderer(content: ConsoleFieldsView(fields: details.facts))),
            Self.picture(ImageRenderer(content: WaterfallLineView(line: line))),
        ]
        #expect(Set(pictures).count == 3)
        await client.shutdown()
    }
}
