// SPDX-License-Identifier: MIT

import PulseCore
import PulseSockets
import PulseTesting

/// Messages to compress, and payloads of other compressors.
enum MessageSamples {
    // MARK: Reading

    /// No cut, one at every place, and one at all of them.
    static func cuts(_ count: Int) -> [[Int]] {
        [[]] + (0...count).map { [$0] } + [Array(0...count)]
    }

    static func pieces(of bytes: Data, cutAt cuts: [Int]) -> [Data] {
        zip([0] + cuts, cuts + [bytes.count]).map { bytes.dropFirst($0).prefix($1 - $0) }
    }

    /// What the payload of a message, cut in pieces, decompresses to.
    static func outcome(of inflater: MessageInflater, _ payload: Data, cutAt cuts: [Int] = []) -> Result<
        Data, SocketFault
    > {
        var output = Data()
        do throws(SocketFault) {
            for piece in pieces(of: payload, cutAt: cuts) {
                inflater.take(piece)
                while let piece = try inflater.next() { output.append(piece) }
            }
            inflater.end()
            while let piece = try inflater.next() { output.append(piece) }
            return .success(output)
        } catch {
            return .failure(error)
        }
    }

    static func code(of inflater: MessageInflater, _ payload: Data, cutAt cuts: [Int] = []) -> Int? {
        guard case .failure(let fault) = outcome(of: inflater, payload, cutAt: cuts) else { return nil }
        return fault.code
    }

    // MARK: Messages

    enum Kind: CaseIterable {
        case zeros, random, text, repeated
    }

    /// Of all kinds and of sizes around those of frames. Arrays, since the leak check cannot follow a global to
    /// Foundation's data.
    static let all: [(name: String, bytes: [UInt8])] = {
        let random = SeededRandomness(seed: 27)
        return [0, 1, 125, 126, 1000, 65_535, 65_536, 200_000, 0, 3, 500].flatMap { size in
            Kind.allCases.map { ("\(size) bytes of \($0)", Array(message($0, size, random))) }
        }
    }()

    static func message(_ kind: Kind, _ size: Int, _ random: SeededRandomness) -> Data {
        switch kind {
        case .zeros: return Data(count: size)
        case .random: return Data((0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        case .text:
            var text = Data()
            while text.count < size { text += Data("{\"id\":\(random.next() % 100_000),\"name\":\"Zoë\"},".utf8) }
            return text.prefix(size)
        case .repeated:
            let block = message(.random, min(size, 777), random)
            var bytes = Data(capacity: size)
            while bytes.count < size { bytes += block.prefix(size - bytes.count) }
            return bytes
        }
    }

    // MARK: Parameters

    struct Parameters: Sendable {
        let value: DeflateParameters
        let sender: FrameReader.Sender
        let keepsContext: Bool
    }

    /// All limits of each side; the other side's are different, so that a side that takes them fails.
    static let allParameters = [FrameReader.Sender.client, .server].flatMap { sender in
        (8...15).flatMap { bits in
            [true, false].map { keepsContext in
                var value = DeflateParameters()
                let other = bits < 12 ? 15 : 8
                (value.clientMaxWindowBits, value.serverMaxWindowBits) =
                    sender == .client ? (bits, other) : (other, bits)
                value.clientNoContextTakeover = (sender == .client) != keepsContext
                value.serverNoContextTakeover = (sender == .server) != keepsContext
                return Parameters(value: value, sender: sender, keepsContext: keepsContext)
            }
        }
    }

    // MARK: Python's zlib 1.2.13

    struct Sequence: Sendable {
        let name: String
        let windowBits: Int
        /// In base64, of ``MessageSamples/ofPython()`` one after the other, with context takeover.
        let payloads: [String]
    }

    static func ofPython() -> [Data] {
        [
            lines(from: 1), Data(), Data("a".utf8), lines(from: 2), Data(repeating: UInt8(ascii: "z"), count: 300),
            lines(from: 1),
        ]
    }

    private static func lines(from start: Int) -> Data {
        Data(
            (0..<8).map { index in
                let price = (index * 7919 + start) % 1000
                return "{\"id\":\(index),\"price\":\(price).\(index % 10),\"name\":\"item \(index % 7)\"}"
            }.joined().utf8)
    }

    static let python = [
        Sequence(
            name: "level 9", windowBits: 15,
            payloads: [
                "ZNA9CsJAEEDhq8jUMuzu/GVzG9EUWyQEsQve3SDMyGD3iq96B4wHzOUK+3PcF5grnr3d1jNhvJb1UuB9fE0N01vBmlV11UJN"
                    + "1LFl1VxRKJMJKStyxaHUDDkrdiWhpCtKVuJKf6oKalbqykIxMdrfiQ8A",
                "AA==",
                "SgQA",
                "qkYLLiOigsuQmOAyMSAquCyJCi4LooLLnKjgMiMquEyxBBcA",
                "qhoFRAMAAA==",
                "qh7NiCRkRAAA",
            ]),
        Sequence(
            name: "level 1", windowBits: 10,
            payloads: [
                "TNA7CsNADIThqwTVQexLu17fxtgutnAIIZ3J3TMYJKubH75qThobzeFJ789Yd5ojY7+WA5PGdz8egX7nZaKZngKjvIqqkqkp"
                    + "d0Z5lVRlU00mRnmVVRVTtTVGeVVUiSnplVFeiap6qyiM8qqqaqZKLozyCk/8AQ==",
                "AA==",
                "SgQA",
                "ggQFIriMiAouQ2KCy8SAqOCyJCq4LIgKLnOigsuMqOAyxRJcAAA=",
                "qhoFRIcAAA==",
                "Qk9ZhkSlLANiUpaxJVEpy4KolGVOVMoyIyplmRKVskywpCwAAA==",
            ]),
        Sequence(
            name: "fixed codes", windowBits: 12,
            payloads: [
                "qlbKTFGyMtBRKijKTE5VsjLUA7LzEnOBTKXMktRcBQOl2mqwGkO4GksjAz1DVFWGMFVGcFUWxpZ6RqiqjGCqjOGqzE0t9IxR"
                    + "VRnDVJnAVZmZm+uZoKoygakyhasytTTTM0VVZQpTZYZQZWiqZ4aqygymyhyuysTYRM8cIyQAAA==",
                "AA==",
                "SgQA",
                "qkYLLiOigsuQmOAyMSAquCyJCi4LooLLnKjgMiMquEyxBBcA",
                "qhoFRAMAAA==",
                "Qk9ZoxkRX0YEAA==",
            ]),
    ]
}
