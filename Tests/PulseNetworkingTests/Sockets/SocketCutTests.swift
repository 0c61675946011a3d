// SPDX-License-Identifier: MIT

import PulseCore
import PulseSockets
import PulseStorage
import PulseTesting
import PulseTransports
import TestSupport
import Testing

/// An exchange that is cut after each of its bytes, in both directions.
@Suite(.tags(.threads), .throttled)
struct SocketCutTests {
    private typealias Step = SocketExchange.Step

    private static func client(_ configuration: PulseConfiguration, _ transport: any Transport) -> PulseClient {
        ClientStage.client(
            configuration.with(\.connectivity, value: ManualConnectivityMonitor()), retry: .never,
            clock: TestClock(autoAdvances: true), over: transport)
    }

    /// The steps whose frame is whole in the first `count` bytes.
    private static func steps(_ frames: [(step: Step, size: Int)], in count: Int) -> [Step] {
        var rest = count
        return frames.prefix { frame in
            rest -= frame.size
            return rest >= 0
        }.map(\.step)
    }

    // MARK: In memory

    private struct Run {
        let outcome: SocketExchange.Outcome
        let arrived: [SocketMessage]
        let count: CuttingTransport.Count
    }

    private static func run(_ cut: CuttingTransport.Cut) async -> Run {
        let arrived = Locked<[SocketMessage]>([])
        let mock = MockTransport(stubs: []) { try await SocketExchange.serve($0, arrived) }
        let transport = CuttingTransport(mock) { _ in cut }
        let client = client(.root, transport)
        let outcome = await SocketExchange.run(with: client)
        while mock.sockets.contains(where: \.isOpen) { await Task.yield() }
        await client.shutdown()
        return Run(outcome: outcome, arrived: arrived.withLock { $0 }, count: transport.count)
    }

    @Test func theExchangeHasTheseBytes() async {
        let run = await Self.run(CuttingTransport.Cut())
        #expect(run.outcome.error == nil && run.outcome.done == Step.allCases.dropLast())
        #expect(run.count.bytesRead == SocketExchange.serverFrames.reduce(0) { $0 + $1.size })
        #expect(run.count.bytesWritten == SocketExchange.clientFrames.reduce(0) { $0 + $1.size })
        #expect(run.outcome.statistics.unconfirmed == 0 && run.arrived == run.outcome.sent)
    }

    @Test func theServersBytesAreCutAnywhere() async {
        let total = SocketExchange.serverFrames.reduce(0) { $0 + $1.size }
        for count in 0..<total {
            let run = await Self.run(CuttingTransport.Cut(read: count))
            let whole = Self.steps(SocketExchange.serverFrames, in: count)
            let next = SocketExchange.serverFrames[whole.count].step
            Self.check(run, "read \(count)", failing: next)
            // All that came whole is delivered.
            let messages = [SocketExchange.welcome, SocketExchange.text, SocketExchange.binary]
            #expect(run.outcome.received == Array(messages.prefix(whole.count)), "read \(count)")
            let confirmed = Self.isOvertaken(run, by: next) ? run.arrived.dropLast() : run.arrived[...]
            #expect(Array(confirmed) == run.outcome.sent, "read \(count)")
        }
    }

    /// Whether the cut has overtaken the confirmation of the message to which the missing bytes reply.
    private static func isOvertaken(_ run: Run, by next: Step) -> Bool {
        [.beGreeted, .receiveText, .receiveBinary].contains(next)
            && run.outcome.done == Step.allCases.filter { $0.rawValue < next.rawValue - 1 }
    }

    @Test func theClientsBytesAreCutAnywhere() async {
        let total = SocketExchange.clientFrames.reduce(0) { $0 + $1.size }
        for count in 0..<total {
            let run = await Self.run(CuttingTransport.Cut(written: count))
            let whole = Self.steps(SocketExchange.clientFrames, in: count)
            let next = SocketExchange.clientFrames[whole.count].step
            Self.check(run, "written \(count)", failing: next)
            let sent = [SocketExchange.greeting, SocketExchange.text, SocketExchange.binary]
            #expect(run.arrived == Array(sent.prefix(whole.count)), "written \(count)")
            #expect(run.outcome.sent == run.arrived, "written \(count)")
            let isBetween = SocketExchange.clientFrames.prefix(whole.count).reduce(0) { $0 + $1.size } == count
            switch next {
            // The reading task may meet the cut first, which knows less.
            case .greet where isBetween: #expect(run.outcome.error?.phase != .responseStarted, "written \(count)")
            case .greet, .sendText, .sendBinary:
                #expect(run.outcome.error?.phase == (isBetween ? .beforeSend : .maybeSent), "written \(count)")
            default: break
            }
        }
    }

    /// The steps before are done, and this one has failed because the connection was lost.
    private static func check(_ run: Run, _ cut: String, failing next: Step) {
        let outcome = run.outcome
        let isOvertaken = cut.hasPrefix("read") && isOvertaken(run, by: next)
        #expect(isOvertaken || outcome.done == Step.allCases.filter { $0.rawValue < next.rawValue }, "\(cut)")
        check(outcome, run.arrived, cut)
        #expect(run.count.opened == 1 && run.count.open == 0 && !run.count.isShared, "\(cut): \(run.count)")
        switch next {
        case .greet, .beGreeted:
            #expect(outcome.states.map(name) == ["idle", "connecting", "idle", "closed"], "\(cut)")
        case .close:
            #expect(outcome.error == nil, "\(cut)")
            #expect(outcome.states.map(name) == ["idle", "connecting", "open", "closing", "closed"], "\(cut)")
        default:
            // A `send` fails at once, and a `ping` as the connection is taken apart: the application may close the
            // socket before it is closed as lost.
            let names = outcome.states.map(name)
            let isLate = names == ["idle", "connecting", "open", "closing", "closed"]
            #expect(
                isLate && (cut.hasPrefix("written") || next == .ping)
                    || names == ["idle", "connecting", "open", "closed lost"], "\(cut), \(next): \(names)")
        }
        guard next != .close else { return }
        guard case .transport(.networkConnectionLost, _) = outcome.error else {
            Issue.record("\(cut): \(outcome.error?.summary ?? "no error")")
            return
        }
    }

    /// What holds for any cut.
    private static func check(_ outcome: SocketExchange.Outcome, _ arrived: [SocketMessage], _ cut: String) {
        #expect(Set(arrived).count == arrived.count, "\(cut): a message has arrived twice")
        let missing = outcome.sent.filter { !arrived.contains($0) }
        #expect(missing.count <= outcome.statistics.unconfirmed, "\(cut)")
    }

    private static func name(_ state: SocketState) -> String {
        switch state {
        case .connecting: "connecting"
        case .reconnecting: "reconnecting"
        case .closed(.transport(.networkConnectionLost, _)?): "closed lost"
        default: "\(state)"
        }
    }

    // MARK: Over a wire, with the handshake

    #if canImport(Glibc)
    @Test(arguments: SocketRelay.Direction.allCases)
    func theHandshakeIsCutAnywhere(direction: SocketRelay.Direction) async throws {
        try await MockServer.run { server in
            let arrived = Locked<[SocketMessage]>([])
            server.onSocket("/feed") { try await SocketExchange.serve($0, arrived) }
            let relay = try SocketRelay(to: server.port)
            defer { relay.stop() }
            let client = Self.client(
                .patient(with: server).with(\.baseURL, value: URL(string: "http://127.0.0.1:\(relay.port)")),
                StandardTransport())
            let whole = await SocketExchange.run(with: client)
            #expect(whole.error == nil && whole.done == Step.allCases.dropLast())
            let frames = direction == .toServer ? SocketExchange.clientFrames : SocketExchange.serverFrames
            let total = relay.count(direction)
            let head = total - frames.reduce(0) { $0 + $1.size }
            #expect(head > 100 && head < 1000)
            for count in 0..<total {
                arrived.withLock { $0 = [] }
                relay.cut(direction, after: count)
                let outcome = await SocketExchange.run(with: client)
                try await server.wait { $0.openConnectionCount == 0 }
                let cut = "\(direction) \(count)"
                let own = arrived.withLock { $0 }
                Self.check(outcome, own, cut)
                let steps = Self.steps(frames, in: count - head)
                if direction == .toServer {
                    let sent = [SocketExchange.greeting, SocketExchange.text, SocketExchange.binary]
                    #expect(own == Array(sent.prefix(max(0, steps.count))), "\(cut)")
                } else {
                    let messages = [SocketExchange.welcome, SocketExchange.text, SocketExchange.binary]
                    // A greeting ends with its connection, even before it asks for the message that has just come.
                    let isGreetingCut = count == head + frames[0].size && outcome.received.isEmpty
                    #expect(
                        isGreetingCut || outcome.received == Array(messages.prefix(steps.count)),
                        "\(cut) after \(outcome.done): \(outcome.error?.summary ?? "no error")")
                }
                if count < head {
                    #expect(
                        outcome.done.isEmpty && outcome.states.map(Self.name).suffix(2) == ["idle", "closed"], "\(cut)")
                }
                if !outcome.done.contains(.ping) {
                    #expect(
                        Self.isTyped(outcome.error, isInHead: count < head), "\(cut): \(outcome.error?.summary ?? "")")
                }
                server.forgetRequests()
            }
            await client.shutdown()
        }
    }

    private static func isTyped(_ error: PulseError?, isInHead: Bool) -> Bool {
        guard case .transport(let code, _) = error else { return false }
        return code == .networkConnectionLost || isInHead && [.badServerResponse, .cannotParseResponse].contains(code)
    }
    #endif
}
