// SPDX-License-Identifier: MIT

import PulseCore
internal import PulseObservability

/// A request masked as on a cassette, for comparison with recorded requests.
struct CassetteRequest: Sendable {
    let method: String
    let url: String
    let address: CassetteAddress
    let body: PulseRecording.Body
    /// The body's JSON, parsed once for all comparisons.
    let json: JSONValue?

    init(_ request: URLRequest, _ body: TransportRequest.Body, _ capture: ExchangeCapture) {
        let recorded = capture.request(request, body: PluginContext.Body(body))
        method = recorded.method
        url = HARDocument.url(recorded.url)
        address = CassetteAddress(url)
        self.body = recorded.body
        json = JSONValue(text: recorded.body.text ?? "")
    }

    /// Creates a recorded request from its parts.
    init(method: String, url: String, address: CassetteAddress, body: PulseRecording.Body) {
        self.method = method
        self.url = url
        self.address = address
        self.body = body
        json = JSONValue(text: body.text ?? "")
    }
}

extension PluginContext.Body {
    init(_ body: TransportRequest.Body) {
        switch body {
        case .none, .bytes: self = .inRequest
        case .file(let url): self = .file(url)
        case .stream(let stream): self = .stream(stream)
        }
    }
}
