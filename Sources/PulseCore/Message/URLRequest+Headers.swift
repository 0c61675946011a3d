// SPDX-License-Identifier: MIT

extension URLRequest {
    // Foundation's lookup on Linux makes a lower-case copy of each name.
    /// The value of a header field; the name is case-insensitive.
    package func header(_ name: String) -> String? {
        allHTTPHeaderFields?.header(name)
    }

    package mutating func setHeader(_ name: String, to value: String?) {
        #if canImport(Darwin)
        setValue(value, forHTTPHeaderField: name)
        #else
        setHeaders([(name, value)])
        #endif
    }

    /// Sets several fields at once; nil removes a field.
    ///
    /// It accepts any value. Foundation's `setValue` on Linux silently drops a field with a line break, so the check
    /// before sending would never see and refuse it. It also scans every character.
    package mutating func setHeaders(_ fields: [(name: String, value: String?)]) {
        #if canImport(Darwin)
        for (name, value) in fields { setValue(value, forHTTPHeaderField: name) }
        #else
        var all = allHTTPHeaderFields ?? [:]
        for (name, value) in fields { all.setHeader(name, to: value) }
        self = replacingHeaders(by: all)
        #endif
    }

    /// Sets the properties for the options that the system applies, on Apple platforms.
    package mutating func setNetworkOptions(_ options: RequestOptions) {
        guard !options.isEmpty else { return }
        if let type = options.networkServiceType { networkServiceType = type }
        #if canImport(Darwin)
        if let isAllowed = options.allowsExpensiveNetworkAccess { allowsExpensiveNetworkAccess = isAllowed }
        if let isAllowed = options.allowsConstrainedNetworkAccess { allowsConstrainedNetworkAccess = isAllowed }
        if let isAssumed = options.assumesHTTP3Capable { assumesHTTP3Capable = isAssumed }
        #endif
    }

    #if !canImport(Darwin)
    /// A copy with these fields and everything else unchanged, except `httpShouldUsePipelining`, which is deprecated
    /// and unused.
    ///
    /// Changing a request copies it, since the caller also holds it. Foundation's copy sets the method, and that setter
    /// compares it with the standard methods, which takes longer than everything else. A new request already is a GET.
    /// A relative URL takes the slow path, since the new request would make it absolute.
    private func replacingHeaders(by fields: [String: String]) -> URLRequest {
        guard let url, url.baseURL == nil, httpMethod == "GET", httpBodyStream == nil else {
            var copy = self
            copy.allHTTPHeaderFields = fields
            return copy
        }
        var new = URLRequest(url: url, cachePolicy: cachePolicy, timeoutInterval: timeoutInterval)
        new.allHTTPHeaderFields = fields
        if let httpBody { new.httpBody = httpBody }
        if let mainDocumentURL { new.mainDocumentURL = mainDocumentURL }
        if networkServiceType != .default { new.networkServiceType = networkServiceType }
        if !allowsCellularAccess { new.allowsCellularAccess = false }
        if !httpShouldHandleCookies { new.httpShouldHandleCookies = false }
        return new
    }
    #endif
}
