// SPDX-License-Identifier: MIT

/// Which headers a redirect takes along.
package enum RedirectSecrets {
    /// Whether the secrets of the first request may go to `target`: if the call began at home, to every home; else only
    /// to where it began. A URL without an origin never gets any.
    package static func mayGo(
        to target: URL, first: URL, beganAtHome: Bool, isHome: (URL) -> Bool
    ) -> Bool {
        guard let origin = Origin(target) else { return false }
        return beganAtHome ? isHome(target) : origin == Origin(first)
    }

    /// Removes what must not reach another origin: every header that is secret by its name or marked as such, and
    /// `Origin`, which would vouch for a request that somebody else has redirected (RFC 6454, section 7.3).
    ///
    /// - Parameter marked: names in lower case.
    package static func remove(from request: inout URLRequest, redaction: Redaction, marked: Set<String>) {
        for name in (request.allHTTPHeaderFields ?? [:]).keys
        where redaction.isSecret(name) || name.equalsIgnoringASCIICase("Origin")
            || marked.contains(name.asciiLowercased)
        {
            request.setValue(nil, forHTTPHeaderField: name)
        }
    }
}
