// SPDX-License-Identifier: MIT

import PulseCore
import PulseSockets
import PulseTesting

/// A whole exchange over one connection: a greeting, messages both ways, a ping and a close. Each step waits for the
/// one before, so that the bytes of both directions are always the same, but for the masks.
struct SocketExchange: Sendable {
    /// The steps, in order.
    enum Step: Int, Sendable, CaseIterable {
        case greet, beGreeted, sendText, receiveText, sendBinary, receiveBinary, ping, close
    }

    /// What the application sees.
    struct Outcome: Sendable {
        /// The steps that were done.
        var done: [Step] = []
        /// Why the next step failed; nil if none did.
        var error: PulseError?
        var received: [SocketMessage] = []
        /// The messages that were sent, as far as the application knows.
        var sent: [SocketMessage] = []
        var states: [SocketState] = []
        var statistics = PulseSocket.Statistics()
    }

    struct Feed: SocketEndpoint {
        var path = "/feed"
        let socketOptions = SocketOptions(reconnect: .never, compression: .off)
    }

    static let greeting = SocketMessage.text("subscribe")
    static let welcome = SocketMessage.text("welcome")
    static let text = SocketMessage.text("one")
    static let binary = SocketMessage.binary(Data(repeating: 7, count: 200))

    /// The server's part.
    static func serve(_ socket: ServerSocket, _ arrived: Locked<[SocketMessage]>) async throws {
        while let message = try await socket.receive() {
            arrived.withLock { $0.append(message) }
            try await socket.send(message == greeting ? welcome : message)
        }
    }

    /// The lengths of the server's frames, with the step that each completes.
    static let serverFrames: [(step: Step, size: Int)] = [
        (.beGreeted, 2 + 7), (.receiveText, 2 + 3), (.receiveBinary, 4 + 200), (.ping, 2 + 8), (.close, 2 + 2),
    ]
    /// The lengths of the client's frames, which have masks, with the step that each completes.
    static let clientFrames: [(step: Step, size: Int)] = [
        (.greet, 6 + 9), (.sendText, 6 + 3), (.sendBinary, 8 + 200), (.ping, 6 + 8), (.close, 6 + 2),
    ]

    /// Goes through the steps until one fails, and closes the socket.
    static func run(with client: PulseClient) async -> Outcome {
        let outcome = Locked(Outcome())
        let done = { @Sendable (step: Step) in outcome.withLock { $0.done.append(step) } }
        // Under one lock: a greeting may run on after its connection, and the outcome is read meanwhile.
        let sent = { @Sendable (message: SocketMessage, step: Step) in
            outcome.withLock { outcome in
                outcome.sent.append(message)
                outcome.done.append(step)
            }
        }
        let received = { @Sendable (message: SocketMessage, step: Step) in
            outcome.withLock { outcome in
                outcome.received.append(message)
                outcome.done.append(step)
            }
        }
        let socket = PulseSocket(endpoint: Feed(), client: client) { peer in
            try await peer.send(greeting)
            sent(greeting, .greet)
            received(try await peer.receive(), .beGreeted)
        }
        let states = socket.states
        let watching = Task { await states.reduce(into: [SocketState]()) { $0.append($1) } }
        var isOpen = false
        do {
            try await socket.connect()
            isOpen = true
            for (message, steps) in [
                (text, (Step.sendText, Step.receiveText)), (binary, (.sendBinary, .receiveBinary)),
            ] {
                try await socket.send(message)
                sent(message, steps.0)
                received(try await socket.receive(), steps.1)
            }
            _ = try await socket.ping()
            done(.ping)
        } catch {
            outcome.withLock { $0.error = PulseError(wrapping: error) }
            // A message may have come before the loss, but a `send` may meet the loss first. An idle socket would wait.
            while isOpen, let message = try? await socket.receive() {
                outcome.withLock { $0.received.append(message) }
            }
        }
        await socket.close()
        outcome.withLock { $0.statistics = socket.statistics }
        let all = await watching.value
        return outcome.withLock { outcome in
            outcome.states = all
            return outcome
        }
    }
}
