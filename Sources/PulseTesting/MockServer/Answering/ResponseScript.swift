// SPDX-License-Identifier: MIT

import PulseCore

/// A response as the steps that send it: all decisions about framing and faults, without effects.
package struct ResponseScript: Sendable {
    package let steps: [MockServer.Step]
    /// Whether the connection may carry another request afterwards, if no step ends it.
    package let keepsAlive: Bool
    let pace: MockServer.Response.Pace?

    /// - Parameter isBodyUnread: whether a part of the request was left unread, so that the start of the next request
    ///   is unknown.
    package init(
        _ response: MockServer.Response, to method: HTTPMethod, isVersion10: Bool = false, closing: Bool,
        isBodyUnread: Bool
    ) {
        pace = response.pace
        if let script = response.script {
            steps = script
            keepsAlive = !isBodyUnread && !closing
            return
        }
        let layout = BodyLayout(response, isHead: method == .head, isVersion10: isVersion10)
        var headers = response.headers
        layout.framingFields.forEach { headers.add(name: $0.name, value: $0.value) }
        let closes =
            closing || isBodyUnread || layout.endsWithConnection || headers.list("Connection").contains("close")
        if closes, response.status != 101, response.framing != .asGiven, !headers.contains("Connection") {
            headers.add(name: "Connection", value: "close")
        }
        keepsAlive = !closes

        let faults = response.faults
        var steps = faults.filter { $0.point == .start }.map(\.step)
        // A client of HTTP/1.0 treats the first status line as the response's (RFC 9110, section 15.2).
        if !isVersion10 { steps += response.informational.map { .bytes(Self.head($0.status, nil, $0.headers)) } }
        steps += Self.pieces(of: Self.head(response.status, response.reason, headers), faults)
        steps += layout.steps(faults: faults)
        steps += faults.filter { $0.point == .end }.map(\.step)
        self.steps = steps
    }

    private static func head(_ status: Int, _ reason: String?, _ headers: HTTPHeaders) -> Data {
        var text = "HTTP/1.1 \(status) \(reason ?? StatusText.phrase(of: status))\r\n"
        for field in headers { text += "\(field.name): \(field.value)\r\n" }
        return Data((text + "\r\n").utf8)
    }

    private static func pieces(
        of head: Data, _ faults: [(point: MockServer.Response.Point, step: MockServer.Step)]
    ) -> [MockServer.Step] {
        let places = faults.compactMap { point, step -> (offset: Int, step: MockServer.Step)? in
            guard case .head(let offset) = point else { return nil }
            return (offset, step)
        }
        return StepSplitter.split(head, at: places.sortedByOffset)
    }
}

extension MockServer.Response {
    /// Throws ``PulseCore/PulseError/invalidRequest(reason:)`` for a field or a reason that would break its line. The
    /// steps of a script are sent as they are.
    func validate() throws {
        guard script == nil else { return }
        guard reason?.isHTTPFieldValue ?? true else {
            throw PulseError.invalidRequest(reason: "the reason phrase contains a control character")
        }
        try headers.validate()
        for response in informational { try response.headers.validate() }
        if case .chunked(_, let trailers) = framing { try trailers.validate() }
    }
}

extension [(offset: Int, step: MockServer.Step)] {
    /// The faults by offset; faults with the same offset stay in order.
    var sortedByOffset: Self {
        enumerated().sorted { ($0.element.offset, $0.offset) < ($1.element.offset, $1.offset) }.map(\.element)
    }
}

enum StepSplitter {
    /// The bytes with the steps between them; steps beyond the end are placed at the end.
    static func split(_ bytes: Data, at places: [(offset: Int, step: MockServer.Step)]) -> [MockServer.Step] {
        var result: [MockServer.Step] = []
        var sent = 0
        for (offset, step) in places {
            let end = Swift.min(Swift.max(offset, sent), bytes.count)
            if end > sent { result.append(.bytes(Data(bytes.dropFirst(sent).prefix(end - sent)))) }
            result.append(step)
            sent = end
        }
        if sent < bytes.count { result.append(.bytes(Data(bytes.dropFirst(sent)))) }
        return result
    }
}
