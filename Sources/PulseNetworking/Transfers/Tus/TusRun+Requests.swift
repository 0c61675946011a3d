// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

extension TusRun.Work {
    /// A request of the protocol, without a body.
    func request(_ method: String, _ url: URL) -> BuiltRequest {
        var copy = built
        copy.body = .inRequest
        copy.urlRequest.httpMethod = method
        copy.urlRequest.httpBody = nil
        copy.urlRequest.setHeader("Content-Type", to: nil)
        copy.urlRequest.setHeader("Idempotency-Key", to: nil)
        if method != "OPTIONS" { copy.urlRequest.setHeader("Tus-Resumable", to: TusRun.version) }
        if url != built.url { move(&copy, to: url) }
        return copy
    }

    /// Moves a request to the URL of the upload, which the endpoint's server has chosen, as with a redirect.
    private func move(_ request: inout BuiltRequest, to url: URL) {
        let environment = call.environment
        request.url = url
        request.urlRequest.url = url
        request.destination = Destination(Origin(url), home: environment.home)
        RedirectPolicy.removeHost(from: &request.urlRequest, continuing: built.urlRequest, sentTo: built.url)
        guard !environment.keepsOwnSecrets(of: built, at: url) else { return }
        request.isForeign = environment.home.isEmpty
        call.removeSecrets(from: &request.urlRequest)
    }
}
