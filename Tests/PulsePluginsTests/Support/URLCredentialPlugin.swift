// SPDX-License-Identifier: MIT

import PulseCore

/// Puts a credential into the URL, where plugins further out do not see it.
struct URLCredentialPlugin: PulsePlugin {
    let identifier = "url-credential"
    /// What stands before the host, and behind the path.
    var userInformation = ""
    var query = ""

    static let all = [
        URLCredentialPlugin(query: "?api_key=inner"), URLCredentialPlugin(userInformation: "ada:inner@"),
    ]

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        let text = request.url?.absoluteString.replacingOccurrences(of: "://", with: "://\(userInformation)") ?? ""
        request.url = URL(string: text + query)
    }
}
