// SPDX-License-Identifier: MIT
//! The recorded calls on a screen: in SwiftUI, and without it.

import PulseKit
import PulseUI

// snippet.client
func makeClient(for server: URL) -> PulseClient {
    PulseClient(
        configuration: PulseConfiguration(baseURL: server),
        plugins: [.retry(), .logger(), .recorder(.shared)])
}
// snippet.end

// snippet.model
@MainActor
final class CallsScreen {
    private let model = ConsoleModel()

    func run() async {
        async let following: Void = model.run()
        for await content in model.contents {
            show(content.rows.map { "\($0.method) \($0.path): \($0.summary)" })
        }
        await following
    }

    func search(_ text: String) {
        model.filter.text = text
        model.filter.outcome = .failed
        model.filter.slowerThan = 1
    }

    func share() async throws -> URL {
        try await model.exportFile(.har, shownOnly: true)
    }
    // snippet.hide

    private func show(_ lines: [String]) {}
    // snippet.show
}
// snippet.end

#if canImport(SwiftUI)
import SwiftUI

// snippet.sheet
struct SettingsView: View {
    @State private var showsConsole = false

    var body: some View {
        Button("Network calls") { showsConsole = true }
            .sheet(isPresented: $showsConsole) {
                NavigationView {
                    PulseDebugView()
                }
            }
    }
}
// snippet.end
#endif
