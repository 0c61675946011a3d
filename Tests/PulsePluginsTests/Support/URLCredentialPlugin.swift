// SPDX-License-Identifier: MIT

import PulseCore

/// Adds a credential to the URL, unseen by outer plugins.
struct URLCredentialPlugin: PulsePlugin {
    let identifier = "url-credential"
    /// The parts before the host and after the path.
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
