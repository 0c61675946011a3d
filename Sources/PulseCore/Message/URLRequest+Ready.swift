// SPDX-License-Identifier: MIT

extension URLRequest {
    /// The absolute URL of a request that the app has made ready itself. Throws for one that cannot be sent as it is.
    package func readyURL() throws -> URL {
        guard let url = url?.absoluteURL, Origin(url) != nil, url.scheme?.lowercased().hasPrefix("http") == true else {
            throw PulseError.invalidURL("a ready request needs an absolute http or https URL")
        }
        guard httpBodyStream == nil else {
            throw PulseError.unsupported("httpBodyStream can be read only once; use RequestBody.stream")
        }
        return url
    }
}
