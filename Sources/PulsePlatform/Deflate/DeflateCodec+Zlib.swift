// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

extension SystemDeflate {
    package static let isAvailable = pulse_deflate_load()

    package static func deflater(windowBits: Int = 15) -> (any DeflateCodec)? {
        isAvailable ? ZlibDeflater(windowBits: windowBits) : nil
    }

    package static func inflater(windowBits: Int) -> (any DeflateCodec)? {
        isAvailable ? ZlibInflater(windowBits: windowBits) : nil
    }
}

private final class ZlibDeflater: DeflateCodec {
    private let stream: OpaquePointer

    init?(windowBits: Int) {
        guard let stream = pulse_deflate_new(CInt(windowBits)) else { return nil }
        self.stream = stream
    }

    deinit { pulse_deflate_free(stream) }

    func run(_ input: Data, room: Int, flush: DeflateFlush) -> DeflateStep? {
        DeflateStep(input, room: room) { input, consumed, output, produced in
            pulse_deflate_run(stream, input, consumed, output, produced, flush.value)
        }
    }
}

private final class ZlibInflater: DeflateCodec {
    private let stream: OpaquePointer

    init?(windowBits: Int) {
        guard let stream = pulse_inflate_new(CInt(windowBits)) else { return nil }
        self.stream = stream
    }

    deinit { pulse_inflate_free(stream) }

    func run(_ input: Data, room: Int, flush: DeflateFlush) -> DeflateStep? {
        DeflateStep(input, room: room) { pulse_inflate_run(stream, $0, $1, $2, $3) }
    }
}

extension DeflateFlush {
    fileprivate var value: pulse_deflate_flush {
        switch self {
        case .none: PULSE_DEFLATE_NONE
        case .sync: PULSE_DEFLATE_SYNC
        case .finish: PULSE_DEFLATE_FINISH
        }
    }
}

extension DeflateStep {
    fileprivate init?(
        _ input: Data, room: Int,
        _ run: (
            _ input: UnsafePointer<UInt8>?, _ consumed: UnsafeMutablePointer<Int>,
            _ output: UnsafeMutablePointer<UInt8>?, _ produced: UnsafeMutablePointer<Int>
        ) -> pulse_deflate_result
    ) {
        var (consumed, produced) = (input.count, room)
        // The output is copied: it is usually much smaller than the buffer.
        let (result, output) = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room) { room in
            let result = input.withUnsafeBytes {
                run($0.bindMemory(to: UInt8.self).baseAddress, &consumed, room.baseAddress, &produced)
            }
            return (result, Data(UnsafeBufferPointer(rebasing: room[..<produced])))
        }
        self.output = output
        self.consumed = consumed
        // Without progress the caller's loop would never end.
        guard result != PULSE_DEFLATE_FAILED, input.isEmpty || consumed > 0 || produced > 0 else { return nil }
        switch result {
        case PULSE_DEFLATE_FULL: end = .full
        case PULSE_DEFLATE_ENDED: end = .ended
        default: end = .hungry
        }
    }
}
#endif
