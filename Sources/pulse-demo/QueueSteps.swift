// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

extension Stage {
    /// Three calls are queued on disk while there is no connection, and a relaunched app sends them.
    func showQueue(_ server: MockServer, _ configuration: PulseConfiguration, _ bus: PulseEventBus) async {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("pulse-demo-\(UUID().uuidString)")
        let mobile =
            configuration
            .with(\.offlineQueuePolicy, value: OfflineQueuePolicy(directory: directory))
            .with(\.retryPolicy, value: .never)

        await step("Without a connection calls wait on the disk", calls: 3) {
            let offline = PulseClient(
                configuration: mobile, plugins: [recorder],
                transport: MockTransport { _ in throw PulseError.noConnection }, events: bus)
            for wish in ["Oolong", "Sencha", "Rooibos"] {
                guard case .failure(.queuedOffline) = await offline.result(of: LeaveWish(wish: wish)) else {
                    throw Unexpected(description: "\(wish) was not queued")
                }
            }
            await offline.shutdown()
            return "three wishes queued, and the app is closed"
        }

        await step("A relaunched client sends them in their order", calls: 3) {
            let relaunched = PulseClient(configuration: mobile, plugins: [recorder], events: bus)
            let requests = try await server.wait(until: { $0.requests.count { $0.path == "/wishes" } == 3 }).requests
            while try await relaunched.offlineQueue?.drain() ?? 0 > 0 {}
            await relaunched.shutdown()
            let wishes = requests.filter { $0.path == "/wishes" }
            guard wishes.map(\.text) == ["Oolong", "Sencha", "Rooibos"] else {
                throw Unexpected(description: "arrived: \(wishes.map(\.text))")
            }
            return "\(wishes.map(\.text).joined(separator: ", ")) arrived"
        }
        try? FileManager.default.removeItem(at: directory)
    }
}
