// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct JSONCodingTests {
    private struct Item: Codable, Equatable, Sendable {
        var itemNumber: Int
        var text: String
    }

    @Test func aConfiguredDecoderIsCreatedOnce() throws {
        let count = Locked(0)
        let decoder = JSONResponseDecoder { decoder in
            count.withLock { $0 += 1 }
            decoder.keyDecodingStrategy = .convertFromSnakeCase
        }
        for number in 0..<3 {
            let item = try decoder.decode(Item.self, from: Data(#"{"item_number":\#(number),"text":"a"}"#.utf8))
            #expect(item == Item(itemNumber: number, text: "a"))
        }
        #expect(count.withLock { $0 } == 1)
        // The default decoder has no such strategy.
        #expect(throws: DecodingError.self) {
            try JSONResponseDecoder().decode(Item.self, from: Data(#"{"item_number":1,"text":"a"}"#.utf8))
        }
    }

    @Test func aConfiguredEncoderIsCreatedOnce() throws {
        let count = Locked(0)
        let encoder = JSONRequestEncoder { encoder in
            count.withLock { $0 += 1 }
            encoder.keyEncodingStrategy = .convertToSnakeCase
            encoder.outputFormatting = .sortedKeys
        }
        for number in 0..<3 {
            let data = try encoder.encode(Item(itemNumber: number, text: "a"))
            #expect(data == Data(#"{"item_number":\#(number),"text":"a"}"#.utf8))
        }
        #expect(count.withLock { $0 } == 1)
        let plain = try JSONRequestEncoder().encode(["itemNumber": 1])
        #expect(plain == Data(#"{"itemNumber":1}"#.utf8))
    }

    @Test func codersWorkOnManyThreads() async throws {
        let (decoder, encoder) = (JSONResponseDecoder(), JSONRequestEncoder())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<16 {
                group.addTask {
                    for number in 0..<200 {
                        let item = Item(itemNumber: number, text: String(repeating: "é\n", count: task))
                        let decoded = try decoder.decode(Item.self, from: encoder.encode(item))
                        #expect(decoded == item)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
