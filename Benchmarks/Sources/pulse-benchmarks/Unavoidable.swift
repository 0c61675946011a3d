// SPDX-License-Identifier: MIT

import PulseKit

/// The parts of a call that no framework can avoid, written by hand with Foundation alone. Each does the client's work
/// for ``Workload/GetUser``, and nothing else.
enum Unavoidable {
    private static let address = "https://api.example.com/users/42"
    private static let headers = ["Accept": "application/json", "User-Agent": "pulse-benchmarks"]

    static func measurements() throws -> [Measurement] {
        let url = try parsed()
        return [
            Measurement("parse the URL") { times in
                for _ in 0..<times { keep(try parsed()) }
            },
            // The method is the default one: setting it again would cost twice as much as the rest.
            Measurement("make the URLRequest") { times in
                for _ in 0..<times {
                    var request = URLRequest(url: url)
                    request.timeoutInterval = 30
                    request.allHTTPHeaderFields = headers
                    keep(request)
                }
            },
            // A decoder for each value, since threads can share a `JSONDecoder` only from iOS 16 on.
            Measurement("decode the JSON") { times in
                for _ in 0..<times { keep(try JSONDecoder().decode(Workload.User.self, from: Workload.json)) }
            },
        ]
    }

    private static func parsed() throws -> URL {
        guard let url = URL(string: address) else { throw URLError(.badURL) }
        return url
    }
}
