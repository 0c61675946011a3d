// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

private struct Prices: SocketEndpoint {
    let path = "/prices/live"
}

extension Stage {
    /// A socket that is reset, reconnects, and subscribes again.
    func showSocket(_ server: MockServer, _ bus: PulseEventBus) async {
        // The wait before a reconnect passes at once.
        let client = PulseClient(
            configuration: PulseConfiguration(baseURL: server.baseURL)
                .with(\.clock, value: TestClock(autoAdvances: true)),
            plugins: [recorder], events: bus)
        // One price for each question, and a reset after the first one.
        server.onSocket("/prices/live") { socket in
            let isFirst = try await socket.receive() == .text("subscribe to tea")
            guard isFirst, try await socket.receive() != nil else { return }
            try await socket.send(.text("tea at 11"))
            if server.activity.sockets.count == 1 { return try await socket.run(.reset) }
            while try await socket.receive() != nil {}
        }
        await step("A socket is cut and comes back", calls: 2) {
            let socket = PulseSocket(endpoint: Prices(), client: client) { greeting in
                try await greeting.send(.text("subscribe to tea"))
            }
            try await socket.connect()
            var prices: [SocketMessage] = []
            for connections in 1...2 {
                for await state in socket.states {
                    if case .open = state, socket.statistics.connections == connections { break }
                }
                try await socket.send(.text("price?"))
                prices.append(try await socket.receive())
            }
            await socket.close()
            guard prices == [.text("tea at 11"), .text("tea at 11")] else {
                throw Unexpected(description: "messages \(prices)")
            }
            return "\(prices.count) prices over \(socket.statistics.connections) connections, subscribed on each"
        }
        await client.shutdown()
    }
}
