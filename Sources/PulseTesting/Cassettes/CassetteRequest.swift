// SPDX-License-Identifier: MIT

import PulseCore
internal import PulseObservability

/// A request in the form of a cassette: masked, so that it can be compared with recorded ones.
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

    /// A request that was recorded.
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
