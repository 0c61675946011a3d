// SPDX-License-Identifier: MIT

import PulseCore

extension ResponseHead {
    /// The response with its body, whose content codings are decoded or will be.
    func response(
        to request: URLRequest, _ timings: PulseResponse.Timings, without codings: [ContentCoding], data: Data,
        isTruncated: Bool, trailers: HTTPHeaders
    ) -> PulseResponse {
        var headers = headers
        if !codings.isEmpty { headers.removeContentFields() }
        var response = PulseResponse(
            statusCode: statusCode, headers: headers, data: data, request: request, timings: timings,
            isTruncated: isTruncated)
        if !codings.isEmpty { response.isDecoded = true }
        response.trailers = trailers
        return response
    }
}
