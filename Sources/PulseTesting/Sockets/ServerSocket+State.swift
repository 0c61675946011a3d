// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseSockets

extension ServerSocket {
    /// A received frame, with the message that it completes.
    struct Arrival: Sendable {
        let frame: Frame
        /// The completed message; nil if there is none.
        let message: SocketMessage?
    }

    struct State: Sendable {
        private struct Message {
            let isText: Bool
            let isCompressed: Bool
            var payload: Data
            var frameCount = 0
        }

        var record: Record
        var isReceiving = false
        /// The close frame that this side sent.
        var closeSent: Close?
        private var frames: ClientFrames
        private var message: Message?
        private let inflater: MessageInflater?

        init(_ record: Record, _ deflate: DeflateParameters?) {
            self.record = record
            inflater = deflate.map {
                MessageInflater($0, of: .client, maxMessageSize: ClientFrames.maxMessageSize)
            }
            frames = ClientFrames(mayBeCompressed: record.mayBeCompressed)
        }

        mutating func take(_ bytes: Data) {
            frames.take(bytes)
        }

        /// The next frame; nil until its bytes have arrived. Later calls throw the same violation again.
        mutating func next() throws -> Arrival? {
            if record.violation == nil {
                do throws(SocketFault) {
                    guard let frame = try frames.next() else { return nil }
                    let message = try add(frame)
                    record.count(frame)
                    if let close = frames.close {
                        record.closeReceived = Close(code: close.code, reason: close.reason)
                    }
                    return Arrival(frame: frame, message: message)
                } catch {
                    record.violation = Close(code: error.code, reason: error.reason)
                }
            }
            guard let violation = record.violation else { return nil }
            throw PulseError.socketClosed(code: violation.code, reason: violation.reason)
        }

        /// Adds a data frame to its message, and returns the message if it is complete.
        private mutating func add(_ frame: Frame) throws(SocketFault) -> SocketMessage? {
            switch frame.opcode {
            case .text, .binary:
                message = Message(
                    isText: frame.opcode == .text, isCompressed: frame.reservedBits & 0x4 != 0, payload: frame.payload)
            case .continuation:
                message?.payload.append(frame.payload)
            default:
                return nil
            }
            message?.frameCount += 1
            guard frame.isFinal, let message else { return nil }
            self.message = nil
            let payload = message.isCompressed ? try inflated(message) : message.payload
            record.messageCount += 1
            if message.frameCount > 1 { record.fragmentedMessageCount += 1 }
            if message.isCompressed { record.compressedMessageCount += 1 }
            return message.isText
                ? .text(String(decoding: payload, as: UTF8.self)) : .binary(payload)
        }

        private func inflated(_ message: Message) throws(SocketFault) -> Data {
            guard let inflater else { throw .internalError("a compressed message without compression") }
            inflater.take(message.payload)
            inflater.end()
            var payload = Data()
            while let piece = try inflater.next() { payload.append(piece) }
            var validator = UTF8Validator()
            guard !message.isText || validator.accepts(payload) && validator.isComplete else {
                throw .invalidData("a text that is no UTF-8")
            }
            return payload
        }
    }
}
