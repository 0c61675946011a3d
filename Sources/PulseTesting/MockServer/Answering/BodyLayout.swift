// SPDX-License-Identifier: MIT

import PulseCore

/// The layout of a response's body on the wire: its framing fields, its bytes, and where faults cut them.
package struct BodyLayout: Sendable {
    typealias Framing = MockServer.Response.Framing

    package let framingFields: [HTTPHeaders.Field]
    /// Whether the end of the body is, or can only be, the end of the connection.
    let endsWithConnection: Bool
    private let body: MockServer.Response.Body
    private let sizes: [Int]
    private let isChunked: Bool
    /// The last chunk with the trailers.
    private let terminator: Data
    private let isSent: Bool

    package init(_ response: MockServer.Response, isHead: Bool, isVersion10: Bool = false) {
        let status = response.status
        let forbidsBody = status < 200 || status == 204 || status == 304
        body = response.body
        isSent = !isHead && !forbidsBody
        // A server must not send a length with these statuses (RFC 9110, section 8.6).
        let forbidsFraming = forbidsBody
        let length = Self.length(of: response.body)
        var framing = response.framing
        if framing == .contentLength, length == nil {
            framing = Self.framingWithoutLength(under: response.headers, isVersion10: isVersion10)
        }

        var fields: [HTTPHeaders.Field] = []
        var endsWithConnection = false
        var sizes: [Int] = []
        var terminator = Data()
        var isChunked = false
        switch framing {
        case .contentLength:
            fields = [Self.contentLength(length ?? 0)]
        case .claimedLength(let claimed):
            fields = [Self.contentLength(claimed)]
            endsWithConnection = length.map { claimed > $0 } ?? true
        case .conflictingLengths(let first, let second):
            fields = [Self.contentLength(first), Self.contentLength(second)]
            endsWithConnection = true
        case .chunked(let chunkSizes, let trailers):
            fields = [HTTPHeaders.Field(name: "Transfer-Encoding", value: "chunked")]
            if !trailers.isEmpty {
                let names = trailers.map(\.name).joined(separator: ", ")
                fields.append(HTTPHeaders.Field(name: "Trailer", value: names))
            }
            let lines = trailers.map { "\($0.name): \($0.value)\r\n" }.joined()
            terminator = Data("0\r\n\(lines)\r\n".utf8)
            sizes = chunkSizes.filter { $0 > 0 }
            isChunked = true
        case .untilClose:
            endsWithConnection = true
        case .asGiven:
            break
        }
        let saysItself = response.headers.contains("Content-Length") || response.headers.contains("Transfer-Encoding")
        framingFields = forbidsFraming || saysItself && !fields.isEmpty ? [] : fields
        self.endsWithConnection = isSent && endsWithConnection
        self.sizes = sizes
        self.terminator = terminator
        self.isChunked = isChunked
    }

    /// The steps that send the body, faults included.
    func steps(
        faults: [(point: MockServer.Response.Point, step: MockServer.Step)]
    ) -> [MockServer.Step] {
        let places = faults.compactMap { point, step -> (offset: Int, step: MockServer.Step)? in
            guard case .body(let offset) = point else { return nil }
            return (max(0, offset), step)
        }.sortedByOffset
        guard isSent else { return places.map(\.step) }
        let end: [MockServer.Step] = isChunked ? [.bytes(terminator)] : []
        switch body {
        case .data(let data): return pieces(of: data, places) + end
        case .repeating(let unit, let times): return repetitions(of: unit, times, places) + end
        case .stream(let stream):
            return [MockServer.Step(.stream(stream, isChunked: isChunked))] + places.map(\.step) + end
        }
    }

    private func pieces(
        of data: Data, _ places: [(offset: Int, step: MockServer.Step)]
    ) -> [MockServer.Step] {
        guard isChunked else { return StepSplitter.split(data, at: places) }
        var result: [MockServer.Step] = []
        var rest = places[...]
        var sent = 0
        var chunk = 0
        while sent < data.count {
            let size = sizes.isEmpty ? data.count : sizes[min(chunk, sizes.count - 1)]
            let payload = data.dropFirst(sent).prefix(size)
            // A fault at the edge of a chunk runs between the chunks, not inside one.
            while let place = rest.first, place.offset <= sent {
                result.append(place.step)
                rest = rest.dropFirst()
            }
            let within = rest.prefix { $0.offset < sent + payload.count }
            rest = rest.dropFirst(within.count)
            let prefix = Self.chunkPrefix(payload.count)
            let places = within.map { (offset: $0.offset - sent + prefix.count, step: $0.step) }
            result += StepSplitter.split(prefix + payload + Self.lineEnd, at: places)
            sent += payload.count
            chunk += 1
        }
        return result + rest.map(\.step)
    }

    private func repetitions(
        of unit: Data, _ times: Int?, _ places: [(offset: Int, step: MockServer.Step)]
    ) -> [MockServer.Step] {
        guard !unit.isEmpty else { return places.map(\.step) }
        let encoded = isChunked ? Self.chunkPrefix(unit.count) + unit + Self.lineEnd : unit
        let overhead = isChunked ? Self.chunkPrefix(unit.count).count : 0
        var result: [MockServer.Step] = []
        var units = 0
        var rest = places[...]
        while let place = rest.first, place.offset / unit.count < times ?? .max {
            let whole = place.offset / unit.count
            if whole > units { result.append(.repeating(encoded, times: whole - units)) }
            let within = rest.prefix { $0.offset / unit.count == whole }
            rest = rest.dropFirst(within.count)
            let places = within.map { place -> (offset: Int, step: MockServer.Step) in
                let offset = place.offset % unit.count
                return (offset == 0 ? 0 : offset + overhead, place.step)
            }
            result += StepSplitter.split(encoded, at: places)
            units = whole + 1
        }
        if let times {
            if times > units { result.append(.repeating(encoded, times: times - units)) }
            return result + rest.map(\.step)
        }
        return result + [.repeating(encoded)]
    }

    private static let lineEnd = Data("\r\n".utf8)

    static func chunkPrefix(_ size: Int) -> Data {
        Data((String(size, radix: 16) + "\r\n").utf8)
    }

    private static func contentLength(_ length: Int) -> HTTPHeaders.Field {
        HTTPHeaders.Field(name: "Content-Length", value: String(length))
    }

    private static func framingWithoutLength(under headers: HTTPHeaders, isVersion10: Bool) -> Framing {
        if headers.contains("Transfer-Encoding") { return .chunked() }
        if headers.contains("Content-Length") { return .asGiven }
        // An HTTP/1.0 client does not support transfer codings (RFC 9112, section 6.1).
        return isVersion10 ? .untilClose : .chunked()
    }

    private static func length(of body: MockServer.Response.Body) -> Int? {
        switch body {
        case .data(let data): return data.count
        case .repeating(let unit, let times?):
            let (product, overflow) = unit.count.multipliedReportingOverflow(by: max(0, times))
            return overflow ? nil : product
        case .repeating, .stream: return nil
        }
    }
}
