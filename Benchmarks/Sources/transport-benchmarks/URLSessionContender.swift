// SPDX-License-Identifier: MIT

import Contending
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Foundation's own client, with completion handlers: its asynchronous functions crash now and then on Linux.
struct URLSessionContender: Contender {
    let session = URLSession(configuration: .default)
    let decoder = JSONDecoder()

    func user(at url: URL) async throws -> User {
        let data = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Data, any Error>) in
            let task = session.dataTask(with: URLRequest(url: url)) { data, response, error in
                guard let data, (response as? HTTPURLResponse)?.statusCode == 200 else {
                    return continuation.resume(throwing: error ?? WrongResponse())
                }
                continuation.resume(returning: data)
            }
            task.resume()
        }
        return try decoder.decode(User.self, from: data)
    }
}
