// SPDX-License-Identifier: MIT

public import PulseCore

extension HTTPHeaders {
    /// The fields that a client sends with every request unless its configuration or the request sets them:
    /// `User-Agent`, and on Apple platforms an `Accept-Language` of the user's languages. `Accept` depends on the call.
    public static var `default`: HTTPHeaders {
        HTTPHeaders(PulseConfiguration().headersOfEveryRequest)
    }
}
