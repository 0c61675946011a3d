// SPDX-License-Identifier: MIT

import PulseKit

/// The parts of a call that no framework can leave out, written by hand with Foundation alone. Each does what the client
/// has to do for ``Workload/GetUser``, and nothing around it.
enum Unavoidable {
    private static let address = "https://api.example.com/users/42"
    private static let headers = ["Accept": "application/json", "User-Agent": "pulse-benchmarks"]

    static func measurements() throws -> [Measurement] {
        let url = try parsed()
        return [
            Measurement("parse the URL") { times in
                for _ in 0..<times { keep(try parsed()) }
            },
            // The method is the default one: to set it again would cost twice as much as all the rest.
            Measurement("make the URLRequest") { times in
                for _ in 0..<times {
                    var request = URLRequest(url: url)
                    request.timeoutInterval = 30
                    request.allHTTPHeaderFields = headers
                    keep(request)
                }
            },
            // A decoder for each value, as `JSONDecoder` can be shared between threads from iOS 16 on only.
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
