// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct MockDeliveryTests {
    private func response(_ status: Int, _ body: PulseResponse.Body) -> PulseResponse {
        var response = PulseResponse(statusCode: status, request: .mock())
        response.body = body
        return response
    }

    private func delivery(_ delivery: TransportRequest.Delivery) -> SimulatedDelivery {
        SimulatedDelivery(TransportRequest(urlRequest: .mock(), delivery: delivery))
    }

    @Test func aConnectionPassesAsTheBodyOfAnUpgrade() async throws {
        let connection = CountedConnection()
        let response = try await delivery(.upgrade).deliver(response(101, .connection(connection)))
        #expect(response.connection === connection && response.origin == .mock)
        #expect(connection.closeCount == 0)
    }

    @Test func aRefusedUpgradeHasABufferedBodyOfAtMost64KiB() async throws {
        for body in [PulseResponse.Body.buffered(Data(count: 65537)), .stream(ByteStream { Data(count: 1000) })] {
            let response = try await delivery(.upgrade).deliver(response(403, body))
            #expect(response.data.count == 65536 && response.isTruncated)
        }
    }

    @Test func aConnectionForAnyOtherDeliveryIsClosed() async throws {
        let file = URL(fileURLWithPath: "/no/such/file")
        for (status, asked) in [
            (200, TransportRequest.Delivery.buffered(limit: 10)), (200, .streamed), (500, .streamed),
            (200, .file(file, resumeOffset: 0)),
        ] {
            let connection = CountedConnection()
            let error = await #expect(throws: PulseError.self) {
                try await delivery(asked).deliver(response(status, .connection(connection)))
            }
            #expect(error?.kind == .unsupported)
            #expect(connection.closeCount == 1)
        }
    }

    @Test func aFileIsDeliveredAsTheFormThatTheCallWants() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try Data("abc".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let whole = response(200, .file(file))
        #expect(try await delivery(.buffered(limit: 3)).deliver(whole).data == Data("abc".utf8))
        await #expect(throws: TransportFailure.self) { try await delivery(.buffered(limit: 2)).deliver(whole) }
        #expect(try await delivery(.streamed).deliver(whole).bytes?.collect(upTo: 3) == Data("abc".utf8))
        #expect(try await delivery(.file(file, resumeOffset: 0)).deliver(whole).file == file)
    }
}
