// SPDX-License-Identifier: MIT

package import PulseCore

/// Converts requests and responses to their recorded form: masked, and truncated to the limits.
package struct ExchangeCapture: Sendable {
    package private(set) var redaction: Redaction
    private let maxBodyLength: Int
    private let maxTextLength: Int
    private let maxFields: Int
    private let keepsBinaryBodies: Bool
    private let keepsExactResponses: Bool

    /// - Parameter maxTextLength: the maximum number of bytes of a URL and of a header's value.
    /// - Parameter keepsExactResponses: stores a response text that is not UTF-8 as masked bytes, and omits one whose
    ///   parts would be replaced by their sizes. For replaying: a replayed response must equal the recorded one.
    package init(
        _ redaction: Redaction, maxBodyLength: Int, maxTextLength: Int = 16 << 10, maxFields: Int = 200,
        keepsBinaryBodies: Bool = false, keepsExactResponses: Bool = false
    ) {
        self.redaction = redaction
        self.maxBodyLength = max(0, maxBodyLength)
        self.maxTextLength = max(0, maxTextLength)
        self.maxFields = max(0, maxFields)
        self.keepsBinaryBodies = keepsBinaryBodies
        self.keepsExactResponses = keepsExactResponses
    }

    /// Adds secrets to mask.
    package func masking(_ redaction: Redaction) -> ExchangeCapture {
        var copy = self
        copy.redaction = self.redaction.adding(redaction)
        return copy
    }

    /// The request before it is sent, at little cost: without headers and body.
    func outline(of request: URLRequest) -> PulseRecording.Exchange.Request {
        PulseRecording.Exchange.Request(method: method(of: request), url: url(of: request))
    }

    package func request(_ request: URLRequest, body source: PluginContext.Body) -> PulseRecording.Exchange.Request {
        let fields = (request.allHTTPHeaderFields ?? [:]).sorted { $0.key < $1.key }
            .map { HTTPHeaders.Field(name: $0.key, value: $0.value) }
        let headers = HTTPHeaders(fields)
        let type = headers["Content-Type"]
        let body: PulseRecording.Body
        switch source {
        case .inRequest:
            body = self.body(request.httpBody ?? Data(), contentType: type, coding: headers["Content-Encoding"])
        case .file: body = omitted(.file, contentType: type)
        case .stream(let stream): body = omitted(.stream, byteCount: stream.length, contentType: type)
        }
        return PulseRecording.Exchange.Request(
            method: method(of: request), url: url(of: request), headers: masked(headers), body: body)
    }

    /// - Parameter data: the body of a streamed or downloaded response, if it is known. A connection is captured like a
    ///   stream.
    package func response(
        _ response: PulseResponse, data: Data? = nil, isTruncated: Bool = false
    ) -> PulseRecording.Exchange.Response {
        let type = response.headers["Content-Type"]
        let body =
            switch response.body {
            case .stream where data == nil, .connection where data == nil:
                omitted(.stream, contentType: type)
            case .file where data == nil:
                omitted(.file, byteCount: response.timings?.bytesDecoded, contentType: type)
            case .buffered, .stream, .file, .connection, .failed:
                self.body(
                    data ?? response.data, contentType: type, coding: response.headers["Content-Encoding"],
                    isTruncated: isTruncated || response.isTruncated, isExact: keepsExactResponses)
            }
        return PulseRecording.Exchange.Response(
            statusCode: response.statusCode, headers: masked(response.headers), body: body, origin: response.origin,
            timings: response.timings)
    }

    /// The masked text on one line.
    package func text(_ text: String) -> String {
        LogExcerpt(redaction, limit: 4096).text(text)
    }

    package func failure(_ error: PulseError) -> PulseError.Summary {
        PulseError.Summary(kind: error.kind, statusCode: error.statusCode, message: text(error.summary))
    }

    // MARK: Parts

    private func method(of request: URLRequest) -> String {
        String((request.httpMethod ?? "GET").prefix(64)).onOneLine
    }

    private func url(of request: URLRequest) -> String {
        request.url.map { LogExcerpt(redaction, limit: maxTextLength).url($0) } ?? ""
    }

    private func masked(_ headers: HTTPHeaders) -> HTTPHeaders {
        let excerpt = LogExcerpt(redaction, limit: maxTextLength)
        var fields = headers.prefix(maxFields).map { field in
            HTTPHeaders.Field(
                name: excerpt.text(field.name), value: excerpt.headerValue(field.value, for: field.name))
        }
        let omitted = headers.count - fields.count
        if omitted > 0 { fields.append(HTTPHeaders.Field(name: "…", value: LogText.count(omitted, "more field"))) }
        return HTTPHeaders(fields)
    }

    private func body(
        _ data: Data, contentType: String?, coding: String?, isTruncated: Bool = false, isExact: Bool = false
    ) -> PulseRecording.Body {
        guard !data.isEmpty || isTruncated else { return .none }
        let count = Int64(data.count)
        let type = shown(contentType)
        if let coding, !coding.isEmpty, !coding.equalsIgnoringASCIICase("identity"), isStillCoded(data) {
            return omitted(.encoded, byteCount: count, contentType: contentType)
        }
        if isExact, let body = bodyThatTextWouldChange(data, contentType: contentType, isTruncated: isTruncated) {
            return body
        }
        let excerpt = LogExcerpt(redaction, limit: maxBodyLength)
        if let (text, isPartial) = excerpt.bodyText(data, contentType: contentType) {
            return PulseRecording.Body(
                .text(text), byteCount: count, isTruncated: isPartial || isTruncated, contentType: type)
        }
        guard keepsBinaryBodies, data.count <= maxBodyLength else {
            let isText = Redaction.isText(data, contentType: contentType)
            return omitted(isText ? .overBudget : .binary, byteCount: count, contentType: contentType)
        }
        return PulseRecording.Body(.bytes(data), byteCount: count, isTruncated: isTruncated, contentType: type)
    }

    /// The recorded form of a text that decoding to a string and back would change; nil for any other body.
    private func bodyThatTextWouldChange(_ data: Data, contentType: String?, isTruncated: Bool) -> PulseRecording.Body?
    {
        guard data.count <= maxBodyLength, Redaction.isText(data, contentType: contentType) else { return nil }
        let bytes = redaction.bodyBytes(data, contentType: contentType)
        if bytes != nil, String(data: data, encoding: .utf8) != nil { return nil }
        let isMultipart = (contentType ?? "").asciiLowercased.hasPrefix("multipart/")
        guard let bytes, !isMultipart else {
            return omitted(.binary, byteCount: Int64(data.count), contentType: contentType)
        }
        return PulseRecording.Body(
            .bytes(bytes), byteCount: Int64(data.count), isTruncated: isTruncated, contentType: shown(contentType))
    }

    /// Whether a body still has its content coding. A transport that decodes a body may keep the header, so the bytes
    /// decide: a body that is not text counts as encoded.
    private func isStillCoded(_ data: Data) -> Bool {
        !Redaction.isText(data, contentType: nil)
    }

    private func omitted(
        _ omission: PulseRecording.Body.Omission, byteCount: Int64? = nil, contentType: String?
    ) -> PulseRecording.Body {
        PulseRecording.Body(.omitted(omission), byteCount: byteCount, contentType: shown(contentType))
    }

    private func shown(_ contentType: String?) -> String? {
        contentType.map { LogExcerpt(redaction, limit: 256).headerValue($0, for: "Content-Type") }
    }
}
