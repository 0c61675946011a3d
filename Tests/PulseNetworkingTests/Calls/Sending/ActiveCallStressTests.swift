// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls

@Suite(.tags(.threads), .throttled)
struct ActiveCallStressTests {
    /// The response, the end of its stream, cancellations and the shutdown race each other.
    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func everyCallEndsOnceWhateverEndsItFirst(seed: UInt64) async {
        let random = SeededRandomness(seed: seed)
        let gated = GatedCalls(completesByItself: true)
        let client = ClientStage.client(plugins: [gated], over: gated, events: PulseEventBus(sink: gated))
        let ids = (0..<16).map { "\($0)" }
        await withTaskGroup(of: Void.self) { group in
            for id in ids {
                let (tag, end, body, delay) = (random.next() % 2, random.next() % 3, random.next() % 4, random.next())
                group.addTask {
                    let options = RequestOptions().with(\.tag, value: "\(tag)")
                    let response = try? await client.perform(
                        client.plan(GetUser(path: id), options, CallShape(delivery: .streamed)))
                    switch end {
                    case 0: response?.discard()
                    case 1: _ = try? await response?.bytes?.collect(upTo: 10)
                    default: break  // Dropped.
                    }
                }
                group.addTask {
                    for _ in 0..<delay % 30 { await Task.yield() }
                    let stream = PulseResponse.Body.stream(ByteStream([Data("x".utf8)]))
                    gated.respond(to: id, .success(body == 0 ? .buffered(Data()) : stream))
                }
            }
            let delays = (0..<3).map { _ in random.next() % 30 }
            group.addTask {
                for _ in 0..<delays[0] { await Task.yield() }
                client.cancelAll(tag: "0")
                for _ in 0..<delays[1] { await Task.yield() }
                client.cancelAll()
            }
            group.addTask {
                for _ in 0..<delays[2] + 10 { await Task.yield() }
                await client.shutdown()
                for id in ids where gated[id].isSent { #expect(gated[id].ends.count == 1, "seed \(seed), call \(id)") }
                #expect(client.calls.count == 0, "seed \(seed)")
            }
        }
        for id in ids {
            let observed = gated[id]
            #expect(observed.ends.count == 1, "seed \(seed), call \(id)")
            #expect(
                observed.completions == 1 || observed.completions == 0 && !observed.isSent, "seed \(seed), call \(id)")
        }
    }
}
