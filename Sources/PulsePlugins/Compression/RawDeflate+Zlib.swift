// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

extension SystemDeflate {
    static func systemMaker() -> MakeRawDeflate? {
        guard pulse_deflate_load() else { return nil }
        return { try ZlibDeflate() }
    }
}

private final class ZlibDeflate: RawDeflate {
    private let stream: OpaquePointer
    private let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 64 << 10)

    init() throws {
        guard let stream = pulse_deflate_new(CInt(PULSE_DEFLATE_LARGEST_WINDOW)) else {
            buffer.deallocate()
            throw PulseError.encodingFailed(underlying: SystemDeflate.Failure())
        }
        self.stream = stream
    }

    deinit {
        pulse_deflate_free(stream)
        buffer.deallocate()
    }

    func compress(_ bytes: UnsafeRawBufferPointer) throws -> Data {
        bytes.isEmpty ? Data() : try run(bytes.bindMemory(to: UInt8.self), isLast: false)
    }

    func finish() throws -> Data {
        try run(UnsafeBufferPointer(start: nil, count: 0), isLast: true)
    }

    private func run(_ bytes: UnsafeBufferPointer<UInt8>, isLast: Bool) throws -> Data {
        let flush = isLast ? PULSE_DEFLATE_FINISH : PULSE_DEFLATE_NONE
        var output = Data()
        var rest = bytes
        while true {
            var consumed = rest.count
            var produced = buffer.count
            let result = pulse_deflate_run(stream, rest.baseAddress, &consumed, buffer.baseAddress, &produced, flush)
            if produced > 0 { output.append(UnsafeBufferPointer(rebasing: buffer[..<produced])) }
            rest = UnsafeBufferPointer(rebasing: rest[consumed...])
            switch result {
            case PULSE_DEFLATE_FULL: continue
            case PULSE_DEFLATE_HUNGRY where !isLast, PULSE_DEFLATE_ENDED where isLast: return output
            default: throw PulseError.encodingFailed(underlying: SystemDeflate.Failure())
            }
        }
    }
}
#endif
