// SPDX-License-Identifier: MIT

import PulseCore

/// Encodes the fields of a record in sequence: numbers little-endian, texts and lists after their length.
struct DiskEncoder {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }

    mutating func append(_ text: String) {
        append(UInt32(truncatingIfNeeded: text.utf8.count))
        bytes += text.utf8
    }

    mutating func append(_ text: String?) {
        append(UInt8(text == nil ? 0 : 1))
        if let text { append(text) }
    }

    mutating func append(_ date: Date) {
        append(date.timeIntervalSinceReferenceDate.bitPattern)
    }

    mutating func append(_ key: CacheKey) {
        append(key.partition)
        append(key.url)
        append(key.bodyDigest)
    }

    mutating func append(_ head: CachedResponse.Head) {
        append(UInt32(truncatingIfNeeded: head.statusCode))
        append(head.requestTime)
        append(head.responseTime)
        append(UInt32(truncatingIfNeeded: head.headers.count))
        for field in head.headers {
            append(field.name)
            append(field.value)
        }
        append(UInt32(truncatingIfNeeded: head.selectingFields.count))
        for field in head.selectingFields {
            append(field.name)
            append(field.value)
        }
        append(UInt32(truncatingIfNeeded: head.tags.count))
        for tag in head.tags.sorted() { append(tag) }
        append(UInt32(truncatingIfNeeded: head.parts?.ranges.count ?? 0))
        for range in head.parts?.ranges ?? [] {
            append(UInt64(range.lowerBound))
            append(UInt64(range.upperBound))
        }
        // A representation with parts never has the length 0, so 0 means unknown.
        if let parts = head.parts { append(UInt64(parts.length ?? 0)) }
    }
}

/// Decodes the output of a ``DiskEncoder``. Returns nil for any other bytes: no input makes it trap.
struct DiskDecoder {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) -> Number? {
        let size = MemoryLayout<Number>.size
        guard bytes.count - position >= size else { return nil }
        defer { position += size }
        return Number(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: Number.self))
    }

    mutating func text() -> String? {
        guard let length = number(UInt32.self).map({ Int(clamping: $0) }), bytes.count - position >= length else {
            return nil
        }
        defer { position += length }
        return String(decoding: bytes[position..<(position + length)], as: UTF8.self)
    }

    /// Nil if the field is damaged; otherwise a text, or none.
    mutating func optionalText() -> String?? {
        switch number(UInt8.self) {
        case 0: return .some(nil)
        case 1: return text().map { .some($0) }
        default: return nil
        }
    }

    mutating func date() -> Date? {
        number(UInt64.self).map { Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0)) }
    }

    mutating func list<Element>(_ element: (inout DiskDecoder) -> Element?) -> [Element]? {
        guard let count = number(UInt32.self) else { return nil }
        var elements: [Element] = []
        for _ in 0..<count {
            guard let next = element(&self) else { return nil }
            elements.append(next)
        }
        return elements
    }

    mutating func key() -> CacheKey? {
        guard let partition = text(), let url = text(), let digest = optionalText() else { return nil }
        return CacheKey(partition: partition, url: url, bodyDigest: digest)
    }

    mutating func head() -> CachedResponse.Head? {
        guard let status = number(UInt32.self), let requestTime = date(), let responseTime = date(),
            let headers = list({ decoder -> HTTPHeaders.Field? in
                guard let name = decoder.text(), let value = decoder.text() else { return nil }
                return HTTPHeaders.Field(name: name, value: value)
            }),
            let selecting = list({ decoder -> CachedResponse.Head.SelectingField? in
                guard let name = decoder.text(), let value = decoder.optionalText() else { return nil }
                return CachedResponse.Head.SelectingField(name: name, value: value)
            }),
            let tags = list({ $0.text() }), let parts = self.parts()
        else { return nil }
        return CachedResponse.Head(
            statusCode: Int(clamping: status), headers: HTTPHeaders(headers), requestTime: requestTime,
            responseTime: responseTime, selectingFields: selecting, tags: Set(tags), parts: parts)
    }

    /// Nil if the parts are damaged; otherwise the parts, or none for a whole response.
    private mutating func parts() -> CachedResponse.Parts?? {
        let ranges = list { decoder -> Range<Int>? in
            guard let start = decoder.offset(), let end = decoder.offset(), start < end else { return nil }
            return start..<end
        }
        guard let ranges else { return nil }
        guard !ranges.isEmpty else { return .some(nil) }
        guard let length = offset(), let parts = CachedResponse.Parts(ranges: ranges, length: length > 0 ? length : nil)
        else {
            return nil
        }
        return parts
    }

    private mutating func offset() -> Int? { number(UInt64.self).flatMap { Int(exactly: $0) } }
}
